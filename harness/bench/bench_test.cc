// Benchmarks of tiny layers: their structure and their judgement. No test here looks at how long anything
// took, beyond that it took some time.

#include "harness/bench/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "harness/backends/plain_memory.h"
#include "harness/backends/select.h"
#include "harness/bench/participant.h"
#include "harness/bench/result.h"
#include "harness/core/backend.h"
#include "harness/model/operator.h"
#include "reference/kernels/kernels.h"

namespace qconform::bench {
namespace {

using ::testing::HasSubstr;

Contestant named(const std::string& name) {
  return {name, [name] {
            backend::SandboxPolicy here;
            here.which = backend::SandboxPolicy::Which::none;
            return backend::select(name, RoundingProfile::correctly_rounded, here);
          }};
}

// Ends its process when it is run.
class Exiting final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case&) override { return std::make_unique<Run>(); }

 private:
  class Run final : public PreparedCase {
    void run(OutputSink&) override { _exit(3); }
  };
  BackendInfo info_{"exiting", "1", "test"};
};

// Grants whatever is asked for, and computes what it is told.
class Obedient final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case&) override { return outcome::Unsupported{"runs repeatedly only"}; }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& wanted) override {
    return std::make_unique<Run>(test_case, wanted);
  }

 private:
  class Run final : public RepeatedRun {
   public:
    Run(const Case& test_case, const RunSetting& granted) : case_(test_case), granted_(granted) {}
    void run() override { output_ = classify(case_).lowered->evaluate(RoundingProfile::correctly_rounded); }
    [[nodiscard]] Outcome outcome() override { return outcome::Produced{output_}; }
    [[nodiscard]] RunSetting setting() const override { return granted_; }

   private:
    const Case& case_;
    RunSetting granted_;
    Tensor output_;
  };
  BackendInfo info_{"obedient", "1", "test"};
};

Result<BenchResult> bench(const std::string& layers, const std::vector<Contestant>& contestants,
                          const RunSetting& wanted = {}) {
  QCONFORM_ASSIGN(auto source, open_layers(layers, {}));
  std::vector<LayerSource> sources;
  sources.push_back(std::move(source));
  RoundOptions options;
  options.conditions.wanted = wanted;
  options.seconds = 0.002;
  BenchResult result;
  result.seed = 1;
  QCONFORM_TRY(run_bench(sources, contestants, options, {}, result));
  return result;
}

TEST(Bench, TimesEveryBackendInEveryRound) {
  const auto result = bench("3x3 4->6 @7", {named("scalar"), named("scalar@ort-f32"), named("scalar")});
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->layers.size(), 1U);
  const LayerResult& layer = result->layers[0];
  EXPECT_EQ(layer.macs, 7 * 7 * 6 * 4 * 9);
  EXPECT_EQ(layer.bytes, 4 * 49 + 6 * 49);
  ASSERT_EQ(layer.timings.size(), 3U);
  for (const Timing& timing : layer.timings) {
    EXPECT_EQ(timing.verdict.kind, VerdictKind::pass);
    EXPECT_TRUE(timing.counts());
    EXPECT_EQ(timing.rounds.size(), layer.timings[0].rounds.size());
    EXPECT_GE(timing.runs, timing.rounds.size());
    EXPECT_GT(timing.minimum, 0);
    EXPECT_LE(timing.minimum, timing.lower_quartile);
    EXPECT_LE(timing.lower_quartile, timing.median);
    EXPECT_LE(timing.median, timing.upper_quartile);
  }
  ASSERT_EQ(layer.ratios.size(), 2U);
  for (const SpeedRatio& ratio : layer.ratios) {
    EXPECT_TRUE(ratio.counts);
    EXPECT_LE(ratio.speed.low, ratio.speed.value);
    EXPECT_LE(ratio.speed.value, ratio.speed.high);
  }
}

TEST(Bench, MarksAWrongKernelAndLeavesItOutOfTheMeans) {
  const auto result = bench("3x3 8->8 @6", {named("scalar"), named("defect:pair-sat-i16")});
  ASSERT_TRUE(result) << result.error().text();
  const LayerResult& layer = result->layers[0];
  EXPECT_EQ(layer.timings[1].verdict.kind, VerdictKind::wrong);
  EXPECT_TRUE(layer.timings[1].timed());
  EXPECT_FALSE(layer.timings[1].counts());
  ASSERT_EQ(layer.ratios.size(), 1U);
  EXPECT_FALSE(layer.ratios[0].counts);
  ASSERT_FALSE(result->means.empty());
  EXPECT_EQ(result->means[0].layers, "all");
  EXPECT_EQ(result->means[0].counted, 0U);
  EXPECT_EQ(result->means[0].left_out, 1U);
}

TEST(Bench, OutlivesABackendThatEndsItsProcess) {
  const Contestant exiting{"exiting", []() -> Result<std::unique_ptr<Backend>> { return std::make_unique<Exiting>(); }};
  const auto result = bench("1x1 4->4 @3", {named("scalar"), exiting});
  ASSERT_TRUE(result) << result.error().text();
  const LayerResult& layer = result->layers[0];
  EXPECT_EQ(layer.timings[1].verdict.kind, VerdictKind::exited);
  EXPECT_FALSE(layer.timings[1].timed());
  EXPECT_TRUE(layer.timings[0].counts());
  EXPECT_TRUE(layer.ratios.empty());
}

TEST(Bench, SaysWhatWasGranted) {
  const Contestant obedient{"obedient",
                            []() -> Result<std::unique_ptr<Backend>> { return std::make_unique<Obedient>(); }};
  const auto result = bench("3x3 4->4 @5", {obedient, named("defect:half-away")}, {Layout::channels_last, 2});
  ASSERT_TRUE(result) << result.error().text();
  const LayerResult& layer = result->layers[0];
  EXPECT_EQ(layer.timings[0].setting.layout, Layout::channels_last);
  EXPECT_EQ(layer.timings[0].setting.threads, 2);
  EXPECT_EQ(layer.timings[0].verdict.kind, VerdictKind::pass);
  // One that knows nothing of layouts runs as a case says.
  EXPECT_EQ(layer.timings[1].setting.layout, Layout::channels_first);
  EXPECT_EQ(layer.timings[1].setting.threads, 1);
}

TEST(Bench, NamesTheCodeThatRan) {
  for (const reference::KernelSet& set : reference::kernel_sets()) {
    const std::string kernels = set.name;
    if (!set.available() || kernels == "scalar") continue;
    const auto dense = bench("3x3 4->6 @7", {named(kernels), named("scalar")});
    const auto depthwise = bench("3x3 32 @9 depthwise", {named(kernels)}, {Layout::channels_last, 1});
    ASSERT_TRUE(dense && depthwise);
    EXPECT_NE(dense->layers[0].timings[0].implementation, "") << kernels;
    EXPECT_EQ(depthwise->layers[0].timings[0].implementation, "depthwise") << kernels;
    EXPECT_EQ(dense->layers[0].timings[1].implementation, "") << "scalar has one way";
  }
}

TEST(Bench, DoesNotTimeTheWayToAWorker) {
  const Contestant remote{"remote", [] {
                            backend::SandboxPolicy all;
                            all.which = backend::SandboxPolicy::Which::all;
                            return backend::select("scalar", RoundingProfile::correctly_rounded, all);
                          }};
  const auto result = bench("1x1 4->4 @3", {named("scalar"), remote});
  ASSERT_TRUE(result) << result.error().text();
  const Timing& timing = result->layers[0].timings[1];
  EXPECT_FALSE(timing.timed());
  EXPECT_THAT(timing.verdict.detail, HasSubstr("computes in a worker"));
  EXPECT_TRUE(result->layers[0].ratios.empty());
}

// As releases of libraries do that this process cannot load.
TEST(Bench, TimesAProgramThatServesABackend) {
  Contestant apart = named("scalar");
  apart.program = {QCONFORM_PROGRAM, "worker", "--backend", "scalar"};
  const auto result = bench("3x3 8->8 @6", {named("scalar"), apart});
  ASSERT_TRUE(result) << result.error().text();
  for (const Timing& timing : result->layers[0].timings) {
    EXPECT_EQ(timing.verdict.kind, VerdictKind::pass);
    EXPECT_TRUE(timing.counts());
  }
  EXPECT_EQ(result->backends[1].info, result->backends[0].info);
}

TEST(Bench, SaysThatAProgramIsNotThere) {
  Contestant missing = named("scalar");
  missing.program = {"/nowhere/qconform", "worker", "--backend", "scalar"};
  EXPECT_THAT(bench("1x1 4->4 @3", {missing}).error().text(), HasSubstr("ended while it was opened"));
}

TEST(Bench, RefusesABackendThatIsNotThere) {
  const auto result = bench("1x1 4->4 @3", {named("scalar"), named("nothing")});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().text(), HasSubstr("no backend \"nothing\""));
}

TEST(Bench, MeansGoOverTheirKindOfLayer) {
  BenchResult result;
  result.seed = 1;
  result.backends.resize(2);
  const auto add = [&](LayerKind kind, std::int64_t macs, double other) {
    LayerResult layer;
    layer.set = "net";
    layer.kind = kind;
    layer.macs = macs;
    layer.count = 3;
    layer.timings.resize(2);
    layer.timings[0].rounds = {1, 1, 1};
    layer.timings[0].median = 1;
    layer.timings[1].rounds = {other, other, other};
    layer.timings[1].median = other;
    result.layers.push_back(layer);
  };
  add(LayerKind::dense, 50'000'000, 2);
  add(LayerKind::dense, 1'000'000, 8);
  add(LayerKind::depthwise, 1'000'000, 4);
  summarize(result, {LayerSource{"net", {}, true}});
  std::map<std::string, double> means;
  for (const Mean& mean : result.means) means[mean.layers] = mean.speed.value;
  EXPECT_EQ(means.size(), 4U);
  EXPECT_NEAR(means["all"], 4, 1e-12);
  EXPECT_NEAR(means["dense"], 4, 1e-12);
  EXPECT_NEAR(means["above 40 MMAC"], 2, 1e-12);
  EXPECT_NEAR(means["depthwise"], 4, 1e-12);
  ASSERT_EQ(result.networks.size(), 1U);
  EXPECT_DOUBLE_EQ(*result.networks[0].seconds[0], 9);
  EXPECT_DOUBLE_EQ(*result.networks[0].seconds[1], 42);
}

TEST(Bench, ChoosesProcessorsThatItMayUse) {
  const auto one = choose_cpus(1);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->size(), 1U);
  EXPECT_FALSE(choose_cpus(0));
  const auto many = choose_cpus(1 << 20);
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().text(), HasSubstr("--threads"));
}

TEST(Peaks, AreThoseOfThisProcessor) {
  const auto cpus = choose_cpus(1);
  ASSERT_TRUE(cpus);
  const std::vector<Peak> peaks = measure_peaks(*cpus);
  ASSERT_FALSE(peaks.empty());
  for (const Peak& peak : peaks) EXPECT_GT(peak.gmacs, 0) << peak.instruction;
}

TEST(Peaks, ABackendIsHeldAgainstItsInstructionSet) {
  const std::vector<Peak> peaks{
      {"vpmaddwd ymm", 80}, {"vpdpbusd ymm (VEX)", 230}, {"vpdpbusd zmm", 400}, {"tdpbusd", 3000}};
  for (const reference::KernelSet& set : reference::kernel_sets()) {
    if (set.peak == nullptr) continue;
    EXPECT_EQ(peak_for(set.name, {{set.peak, 80}, {"faster", 3000}}), set.peak);
    EXPECT_EQ(peak_for(std::string(set.name) + "@ort-f32", {{set.peak, 80}, {"faster", 3000}}), set.peak);
  }
  EXPECT_EQ(peak_for("onednn@avx2_vnni", peaks), "vpdpbusd ymm (VEX)");
  EXPECT_EQ(peak_for("onednn@avx512_core_vnni", peaks), "vpdpbusd zmm");
  EXPECT_EQ(peak_for("onednn@avx512_core_amx", peaks), "tdpbusd");
  EXPECT_EQ(peak_for("onnxruntime", peaks), "tdpbusd");
  EXPECT_EQ(peak_for("avx2", {}), "");
}

TEST(Layout, TurnsThereAndBack) {
  const std::vector<std::int32_t> values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for (const ElementType type : {ElementType::int8, ElementType::int32}) {
    Tensor tensor{type, {2, 3, 1, 2}, {}};
    const auto size = static_cast<std::size_t>(bits_of(type) / 8);
    tensor.bytes.resize(values.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(tensor.bytes.data() + i * size, &values[i], size);
    std::vector<std::byte> last(tensor.bytes.size());
    to_channels_last(tensor, last);
    Tensor seen{type, {2, 1, 2, 3}, last};
    EXPECT_EQ(integer_at(seen, 1), 2) << "channel 1 of position 0";
    EXPECT_EQ(integer_at(seen, 3), 1) << "channel 0 of position 1";
    EXPECT_EQ(integer_at(seen, 6), 6) << "the second of the batch";
    Tensor back{type, tensor.shape, {}};
    to_channels_first(last, back);
    EXPECT_EQ(back, tensor);
  }
}

TEST(Statistics, QuantilesInterpolate) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(quantile({10, 20, 30, 40, 50}, 0.25), 20);
  EXPECT_DOUBLE_EQ(quantile({10, 20}, 0.75), 17.5);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.975), 7);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
}

TEST(Statistics, ARatioIsTakenRoundByRound) {
  // A machine that is half as fast in every second round: neither's median tells, the pairs do.
  const std::vector<double> ours{1, 2, 1, 2, 1, 2, 1};
  const std::vector<double> others{3, 6, 3, 6, 3, 6, 3};
  Rng rng(1);
  const SpeedInterval ratio = speed_ratio(ours, others, rng);
  EXPECT_DOUBLE_EQ(ratio.value, 3);
  EXPECT_DOUBLE_EQ(ratio.low, 3);
  EXPECT_DOUBLE_EQ(ratio.high, 3);
}

TEST(Statistics, NoiseWidensTheInterval) {
  const std::vector<double> ours(9, 1.0);
  const std::vector<double> others{1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8};
  Rng rng(1);
  const SpeedInterval ratio = speed_ratio(ours, others, rng);
  EXPECT_DOUBLE_EQ(ratio.value, 1.4);
  EXPECT_LT(ratio.low, 1.4);
  EXPECT_GE(ratio.low, 1.0);
  EXPECT_GT(ratio.high, 1.4);
  EXPECT_LE(ratio.high, 1.8);
}

TEST(Statistics, TheMeanIsGeometric) {
  const std::vector<double> one{1, 1, 1};
  const std::vector<double> two{2, 2, 2};
  const std::vector<double> eight{8, 8, 8};
  const PairedRounds layers[] = {{one, two}, {one, eight}};
  Rng rng(1);
  const SpeedInterval mean = geometric_mean(layers, rng);
  EXPECT_NEAR(mean.value, 4, 1e-12);
  EXPECT_NEAR(mean.low, 4, 1e-12);
  EXPECT_NEAR(mean.high, 4, 1e-12);
}

}  // namespace
}  // namespace qconform::bench
