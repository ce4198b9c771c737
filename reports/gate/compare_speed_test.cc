#include "reports/gate/compare_speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/forms/archive/json_archives.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/model/draws/rng.h"
#include "reports/render/bench_document.h"

namespace qconform::gate {
namespace {

using ::testing::HasSubstr;
constexpr int kLayers = 12;
constexpr int kRounds = 15;

report::BenchTiming timing(const char* name, const std::vector<double>& rounds) {
  return {.backend = name,
          .verdict = "pass",
          .layout = "nchw",
          .threads = 1,
          .runs = rounds.size(),
          .seconds = report::BenchSeconds{.rounds = rounds}};
}

// A measurement whose rounds vary by some percent; `machine` slows everything down, `factor` the backend
// on layers from `first` on.
Json bench(std::uint64_t seed, double machine, double factor, int first = 0) {
  Rng rng(seed);
  report::BenchDocument document{.layout = "nchw", .threads = 1};
  document.environment.cpu = "some CPU";
  document.backends = {{{"mine", "1"}, ""}, {{"other", "2"}, ""}};
  for (int layer = 0; layer < kLayers; ++layer) {
    std::vector<double> ours;
    std::vector<double> others;
    for (int round = 0; round < kRounds; ++round) {
      const auto noise = [&] { return 1 + static_cast<double>(rng.below(600)) / 10000; };
      ours.push_back(1e-3 * machine * noise() * (layer >= first ? factor : 1));
      others.push_back(2e-3 * machine * noise());
    }
    document.layers.push_back({.name = "conv" + std::to_string(layer),
                               .set = "net",
                               .timings = {timing("mine", ours), timing("other", others)}});
  }
  return write_document(description_of(document));
}

Result<std::vector<Change>> compared(const Json& before, const Json& now) {
  QCONFORM_ASSIGN(const auto old_speeds, read_speeds(before.dump()));
  QCONFORM_ASSIGN(const auto new_speeds, read_speeds(now.dump()));
  return compare_speed(old_speeds, new_speeds, 0.05);
}

TEST(CompareSpeed, NoiseAndASlowMachineAreNoRegression) {
  for (std::uint64_t seed = 2; seed < 5; ++seed) {
    const auto changes = compared(bench(1, 1, 1), bench(seed, 1.4, 1));
    ASSERT_TRUE(changes) << changes.error().text();
    EXPECT_TRUE(changes->empty()) << changes->front().signature << ": " << changes->front().text;
  }
}

TEST(CompareSpeed, ASlowerLayerIsNamed) {
  const auto changes = compared(bench(1, 1, 1), bench(2, 0.8, 1.2, kLayers - 1));
  ASSERT_TRUE(changes) << changes.error().text();
  ASSERT_EQ(changes->size(), 1U);
  EXPECT_EQ(changes->front().effect, Effect::worse);
  EXPECT_EQ(changes->front().what, "slower");
  EXPECT_EQ(changes->front().signature, "net/conv11");
}

TEST(CompareSpeed, TheMeanShowsWhatNoLayerShows) {
  const auto changes = compared(bench(1, 1, 1), bench(2, 1, 1.075));
  ASSERT_TRUE(changes) << changes.error().text();
  EXPECT_TRUE(std::any_of(changes->begin(), changes->end(), [](const Change& change) {
    return change.effect == Effect::worse && change.signature == "mean of 12 layers";
  }));
  EXPECT_TRUE(compared(bench(1, 1, 1), bench(2, 1, 1.02))->empty());
}

TEST(CompareSpeed, ALayerThatIsNoLongerTimedIsWorse) {
  Json now = bench(2, 1, 1);
  now["layers"][3]["timings"][0]["verdict"] = "wrong";
  now["layers"].erase(5);
  const auto changes = compared(bench(1, 1, 1), now);
  ASSERT_TRUE(changes) << changes.error().text();
  ASSERT_EQ(changes->size(), 2U);
  EXPECT_THAT(changes->at(0).text, HasSubstr("computed wrongly: wrong"));
  EXPECT_EQ(changes->at(1).signature, "net/conv5");
}

TEST(CompareSpeed, RefusesWhatCannotBeCompared) {
  const auto error = [](const char* pointer, const Json& value) {
    Json now = bench(2, 1, 1);
    now[Json::json_pointer(pointer)] = value;
    const auto changes = compared(bench(1, 1, 1), now);
    return changes ? std::string() : changes.error().text();
  };
  EXPECT_THAT(error("/environment/cpu", "another"), HasSubstr("speeds of different CPUs are not compared"));
  EXPECT_THAT(error("/threads", 4), HasSubstr("measured with nchw, 4 threads, the baseline with nchw, 1 thread"));
  EXPECT_THAT(error("/backends/1/version", "3"), HasSubstr("no other backend stands in both measurements"));
  EXPECT_THAT(error("/layers/0/timings/0/seconds/rounds", {1.0, 2.0}), HasSubstr("at least 5 are needed"));
  EXPECT_THAT(error("/layers/0/timings/0/seconds/rounds/0", 0.0), HasSubstr("expected seconds above 0"));
  EXPECT_THAT(error("/version", 2), HasSubstr("version: 2: written by a newer qconform"));
}

}  // namespace
}  // namespace qconform::gate
