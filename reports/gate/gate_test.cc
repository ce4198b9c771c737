#include "reports/gate/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/forms/archive/archive.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/model/draws/draws.h"
#include "reports/render/bench_document.h"

namespace qconform::gate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Finding finding(std::string id, std::string backend, std::string signature, std::uint64_t cases) {
  Finding result;
  result.id = std::move(id);
  result.backend = std::move(backend);
  result.op_type = "QLinearConv";
  result.signature = std::move(signature);
  result.cases = cases;
  return result;
}

// Makes a report on backends that got cases of QLinearConv.
Report report_of(const std::vector<std::string>& backends, std::vector<Finding> findings) {
  Report report;
  for (const std::string& name : backends) {
    BackendResult& backend = report.backends.emplace_back();
    backend.info.name = name;
    backend.operators["QLinearConv"].verdicts[static_cast<std::size_t>(VerdictKind::pass)] = 100;
  }
  report.findings = std::move(findings);
  return report;
}

TEST(Causes, AreNewStayedGoneOrNotTested) {
  const Report before =
      report_of({"mine", "other"}, {finding("F1", "mine", "pad-raw-zero", 7), finding("F2", "mine", "half-away", 3),
                                    finding("F3", "other", "half-away", 5), finding("F4", "mine", "pad-raw-zero", 2)});
  const Report now =
      report_of({"mine"}, {finding("F1", "mine", "axis-ignored", 4), finding("F2", "mine", "pad-raw-zero", 8)});
  const auto comparison = compare({"before.json", before}, {"now.json", now}, nullptr);
  ASSERT_TRUE(comparison) << comparison.error().text();
  ASSERT_EQ(comparison->causes.size(), 4U);
  EXPECT_TRUE(comparison->same_cases);

  const ComparedCause& added = comparison->causes[0];
  EXPECT_EQ(added.state, CauseState::appeared);
  EXPECT_EQ(added.known.signature, "axis-ignored");
  EXPECT_THAT(added.findings, ElementsAre("F1"));
  EXPECT_THAT(added.findings_before, IsEmpty());

  const ComparedCause& stayed = comparison->causes[1];
  EXPECT_EQ(stayed.state, CauseState::stayed);
  EXPECT_EQ(stayed.cases, 8U);
  EXPECT_EQ(stayed.cases_before, 9U);
  EXPECT_THAT(stayed.findings_before, ElementsAre("F1", "F4"));

  EXPECT_EQ(comparison->causes[2].state, CauseState::gone);
  EXPECT_EQ(comparison->causes[2].known.signature, "half-away");
  EXPECT_EQ(comparison->causes[3].state, CauseState::not_tested);
  EXPECT_EQ(comparison->causes[3].known.backend, "other");
}

// A waiver decides whether it counts, not whether it is there.
TEST(Causes, HaveWaivedFindingsToo) {
  Report before = report_of({"mine"}, {finding("F1", "mine", "half-away", 3)});
  Report now = before;
  now.findings[0].waiver = WaivedBy{"known", "it is known", "docs"};
  const auto comparison = compare({"before.json", before}, {"now.json", now}, nullptr);
  ASSERT_TRUE(comparison) << comparison.error().text();
  ASSERT_EQ(comparison->causes.size(), 1U);
  EXPECT_EQ(comparison->causes[0].state, CauseState::stayed);
}

// Makes the report of a night that began at the hour and met these causes, and what is new in it.
GateResult night(int hour, const std::vector<std::string>& signatures, const GateResult* before) {
  std::vector<Finding> findings;
  for (const std::string& signature : signatures)
    findings.push_back(finding("F" + std::to_string(findings.size() + 1), "mine", signature, 3));
  Report report = report_of({"mine"}, std::move(findings));
  report.environment.started = "2026-11-2" + std::to_string(hour) + "T21:00:00Z";
  report.campaign.emplace();
  report.backends[0].operators["QLinearConv"].verdicts[static_cast<std::size_t>(VerdictKind::wrong)] = 3;
  auto known = before == nullptr ? std::optional<ReportSide>() : before->current;
  if (known) {
    for (const ComparedCause& cause : before->causes) known->report.campaign->causes.push_back(cause.known);
  }
  auto compared = compare_campaign(std::move(known), {"night/report.json", std::move(report)});
  EXPECT_TRUE(compared);
  return std::move(*compared);
}

TEST(Nights, RememberWhenACauseWasMet) {
  const GateResult first = night(1, {"half-away", "axis-ignored"}, nullptr);
  const GateResult second = night(2, {"half-away"}, &first);
  const GateResult third = night(3, {"pad-raw-zero", "axis-ignored"}, &second);
  EXPECT_EQ(subject_of(first), "does not conform: mine; 2 new causes");
  EXPECT_EQ(subject_of(second), "does not conform: mine; 0 new causes, 1 met again, 1 not met");
  EXPECT_EQ(subject_of(third), "does not conform: mine; 1 new cause, 1 met again, 1 not met");
  ASSERT_EQ(third.causes.size(), 3U);
  EXPECT_EQ(third.causes[0].known.signature, "pad-raw-zero");
  EXPECT_EQ(third.causes[1].state, CauseState::stayed) << "a night without it lies between";
  EXPECT_EQ(third.causes[1].known.first_seen, "2026-11-21T21:00:00Z");
  EXPECT_EQ(third.causes[1].known.last_seen, "2026-11-23T21:00:00Z");
  EXPECT_EQ(third.causes[2].state, CauseState::gone);
  EXPECT_EQ(third.causes[2].known.last_seen, "2026-11-22T21:00:00Z");
  const std::string mail = to_mail(third);
  EXPECT_THAT(mail, ::testing::StartsWith(
                        "Subject: qconform: does not conform: mine; 1 new cause, 1 met again, 1 not met\n\n"));
  EXPECT_THAT(mail, ::testing::HasSubstr("New since 2026-11-22T21:00:00Z\nF1 mine QLinearConv: wrong"));
  EXPECT_THAT(mail, ::testing::ContainsRegex("Not met\nmine QLinearConv: .*last seen 2026-11-22T21:00:00Z"));
}

TEST(Share, OfTheSameCasesEveryOneCounts) {
  EXPECT_EQ(trend({3, 100}, {4, 100}, true), Trend::higher);
  EXPECT_EQ(trend({3, 100}, {2, 100}, true), Trend::lower);
  EXPECT_EQ(trend({3, 100}, {3, 100}, true), Trend::same);
}

TEST(Share, OfOtherCasesIgnoresChance) {
  EXPECT_EQ(trend({30, 1000}, {36, 1000}, false), Trend::same);
  EXPECT_EQ(trend({30, 1000}, {80, 1000}, false), Trend::higher);
  EXPECT_EQ(trend({80, 1000}, {30, 1000}, false), Trend::lower);
  EXPECT_EQ(trend({0, 1000}, {1, 1000}, false), Trend::same);
  EXPECT_EQ(trend({50, 1000}, {500, 10000}, false), Trend::same);
  EXPECT_EQ(trend({0, 0}, {1, 0}, false), Trend::higher) << "no whole: the parts themselves";
}

// Values of R's phyper(k - 1, marked, all - marked, drawn, lower.tail = FALSE).
TEST(Share, TheProbabilityIsThatOfFishersTest) {
  EXPECT_NEAR(chance_of_at_least({1, 10}, {5, 10}), 0.070433436532507, 1e-12);
  EXPECT_NEAR(chance_of_at_least({0, 5}, {3, 5}), 1.0 / 12, 1e-12);
  EXPECT_NEAR(chance_of_at_least({4, 10}, {0, 10}), 1.0, 1e-12);
}

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
