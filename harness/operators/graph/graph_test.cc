#include "harness/operators/graph/graph.h"
#include "harness/operators/graph/dynamic_scales.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "harness/engine/shrink/shrink.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"
#include "harness/model/sweep/model.h"
#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/sweep_units.h"
#include "harness/operators/graph/unit.h"
#include "harness/suites/sweep/suite.h"
#include "harness/tests/test_scale.h"

namespace qconform {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// (238 - 238) * 1 + (120 - 119) / 16, divided by 1/8: a half, and the zero point 1.
Case half_and_one() {
  GraphBuilder graph(13);
  const auto dequantized = [&](std::int64_t x, float scale, std::int64_t zero_point) {
    return graph.node("DequantizeLinear",
                      {graph.input(make::uint8({1, 1}, {x})), graph.initializer(make::float32(scale)),
                       graph.initializer(make::integer(ElementType::uint8, zero_point))});
  };
  const std::string sum = graph.node("Add", {dequantized(238, 1, 238), dequantized(120, 0.0625F, 119)});
  const std::string q = graph.node("QuantizeLinear", {sum, graph.initializer(make::float32(0.125F)),
                                                      graph.initializer(make::integer(ElementType::uint8, 1))});
  return graph.build({q, sum});
}

TEST(Graph, RoundsBeforeItAddsTheZeroPoint) {
  Case test_case = half_and_one();
  test_case.outputs = {test_case.outputs[0]};
  const Expected expected = expect(test_case, {});
  ASSERT_EQ(expected.output, make::uint8({1, 1}, {1}));
  EXPECT_EQ(judge(expected, outcome::Produced{*expected.output}).kind, VerdictKind::pass);
  const Verdict verdict = judge(expected, outcome::Produced{make::uint8({1, 1}, {2})});
  EXPECT_EQ(verdict.kind, VerdictKind::wrong);
  ASSERT_TRUE(verdict.worst.has_value());
  EXPECT_EQ(verdict.worst->admissible, "{1}");
  EXPECT_EQ(verdict.worst->exact, "0.5, zero point 1");
}

TEST(Graph, IsJudgedByEveryOutput) {
  const Case test_case = half_and_one();
  const Expected expected = expect(test_case, {});
  ASSERT_EQ(expected.classification.lowered->outputs(), 2U);
  const Tensor y = make::uint8({1, 1}, {1});
  EXPECT_EQ(judge(expected, outcome::Produced{{y, make::float32({1, 1}, {0.0625F})}}).kind, VerdictKind::pass);
  const Verdict verdict = judge(expected, outcome::Produced{{y, make::float32({1, 1}, {0.125F})}});
  EXPECT_EQ(verdict.kind, VerdictKind::wrong);
  EXPECT_EQ(verdict.elements, 2U);
  EXPECT_EQ(verdict.worst->output, 1U);
  EXPECT_THAT(judge(expected, outcome::Produced{y}).detail, HasSubstr("1 outputs, expected 2"));
}

// 1 + 2^-24 + 2^-24: exact, as float32 adds it, and what folding may make of it.
TEST(Graph, TellsTheTierOfAnElement) {
  GraphBuilder graph(13);
  const auto number = [&](float value) { return graph.input(make::float32({1}, {value})); };
  const std::string sum = graph.node("Add", {number(1), number(0x1p-24F)});
  const Case test_case = graph.build({graph.node("Add", {sum, number(0x1p-24F)})});
  const Expected expected = expect(test_case, {});
  const auto tier = [&](float y) {
    return judge(expected, outcome::Produced{make::float32({1}, {y})}).tiers.common.strictest();
  };
  EXPECT_EQ(tier(1 + 0x1p-23F), reference::Tier::exact);
  EXPECT_EQ(tier(1), reference::Tier::as_written);
  EXPECT_EQ(tier(1 + 0x1p-22F), reference::Tier::any_association);
  EXPECT_EQ(tier(1.5F), std::nullopt);
}

// 1 * 1 + 0.4 over 0.25; integer kernels round the bias to 0.
TEST(Graph, AdmitsFusedKernelsWhereTheProfileDoes) {
  GraphBuilder graph(13);
  const auto dequantized = [&](Tensor tensor, std::int64_t zero_point) {
    const ElementType type = tensor.type;
    return graph.node("DequantizeLinear", {graph.input(std::move(tensor)), graph.initializer(make::float32(1.0F)),
                                           graph.initializer(make::integer(type, zero_point))});
  };
  const std::string conv =
      graph.node("Conv", {dequantized(make::uint8({1, 1, 1, 1}, {8}), 7), dequantized(make::int8({1, 1, 1, 1}, {1}), 0),
                          graph.initializer(make::float32({1}, {0.4F}))});
  const auto quantized = [&](float scale) {
    return graph.build(
        {graph.node("QuantizeLinear", {graph.node("Relu", {conv}), graph.initializer(make::float32(scale)),
                                       graph.initializer(make::integer(ElementType::uint8, 0))})});
  };
  const auto verdict = [](const Case& test_case, std::int64_t y, Profile profile) {
    return judge(expect(test_case, {.profile = profile}), outcome::Produced{make::uint8({1, 1, 1, 1}, {y})});
  };
  const Case quarters = quantized(0.25F);
  EXPECT_EQ(verdict(quarters, 6, Profile::conformance).kind, VerdictKind::pass);
  const Verdict fused = verdict(quarters, 4, Profile::conformance);
  EXPECT_EQ(fused.kind, VerdictKind::wrong);
  EXPECT_EQ(fused.tiers.common.strictest(), reference::Tier::fused_int8);
  EXPECT_EQ(verdict(quarters, 4, Profile::fused_int8).kind, VerdictKind::pass);
  EXPECT_EQ(verdict(quarters, 3, Profile::fused_int8).kind, VerdictKind::wrong);
}

// Fused kernels also take a bias that an Add behind a MatMul adds.
TEST(Graph, AdmitsFusedKernelsWhereAnAddIsTheBias) {
  GraphBuilder graph(13);
  const auto dequantized = [&](Tensor tensor) {
    return graph.node("DequantizeLinear", {graph.input(std::move(tensor)), graph.initializer(make::float32(1.0F))});
  };
  const std::string product =
      graph.node("MatMul", {dequantized(make::uint8({1, 1}, {1})), dequantized(make::uint8({1, 1}, {1}))});
  const std::string sum = graph.node("Add", {graph.initializer(make::float32({1}, {0.4F})), product});
  const Case test_case = graph.build({graph.node("QuantizeLinear", {sum, graph.initializer(make::float32(0.25F))})});
  const auto verdict = [&](std::int64_t y, Profile profile) {
    return judge(expect(test_case, {.profile = profile}), outcome::Produced{make::uint8({1, 1}, {y})}).kind;
  };
  EXPECT_EQ(verdict(4, Profile::conformance), VerdictKind::wrong);
  EXPECT_EQ(verdict(4, Profile::fused_int8), VerdictKind::pass);
}

// 1 over 2 is a tie: an integer multiplier may round it up.
TEST(Graph, AdmitsTiesEitherWayInFixedPoint) {
  GraphBuilder graph(13);
  const auto dequantized = [&](Tensor tensor) {
    return graph.node("DequantizeLinear", {graph.input(std::move(tensor)), graph.initializer(make::float32(1.0F))});
  };
  const std::string product =
      graph.node("MatMul", {dequantized(make::uint8({1, 1}, {1})), dequantized(make::uint8({1, 1}, {1}))});
  const Case test_case = graph.build({graph.node("QuantizeLinear", {product, graph.initializer(make::float32(2.0F))})});
  const auto verdict = [&](std::int64_t y, Profile profile) {
    return judge(expect(test_case, {.profile = profile}), outcome::Produced{make::uint8({1, 1}, {y})});
  };
  EXPECT_EQ(verdict(0, Profile::conformance).kind, VerdictKind::pass);
  EXPECT_EQ(verdict(1, Profile::fused_int8).tiers.common.strictest(), reference::Tier::fused_fixed_point);
  EXPECT_EQ(verdict(1, Profile::fused_q31).kind, VerdictKind::pass);
  EXPECT_EQ(verdict(2, Profile::fused_q31).kind, VerdictKind::wrong);
}

TEST(Graph, WithoutNodesIsRefused) {
  Case nothing;
  nothing.nodes.clear();
  EXPECT_EQ(classify(nothing).expectation(), Expectation::invalid);
}

// How much of what the random suite draws says something.
TEST(Graph, GivesAnIntegerThatIsNoNumberTheValueZero) {
  EXPECT_EQ(pattern_of(ElementType::int32, std::nan("")), 0U);
  EXPECT_EQ(pattern_of(ElementType::int64, -std::numeric_limits<double>::infinity()), 0U);
  EXPECT_EQ(pattern_of(ElementType::int8, -1), 0xFFU);
}

TEST(RandomGraphs, AreInContractAndMostlyDetermined) {
  constexpr std::uint64_t kGraphs = 600;
  std::uint64_t exact_graphs = 0;
  std::int64_t elements = 0;
  std::int64_t tight = 0;
  std::size_t most_nodes = 0;
  for (std::uint64_t i = 0; i < kGraphs; ++i) {
    const Case test_case = graph_case(1, i);
    const Classification classification = classify(test_case);
    ASSERT_EQ(classification.expectation(), Expectation::valid)
        << i << ": " << classification.deciding_remark()->text();
    const Lowered& lowered = *classification.lowered;
    most_nodes = std::max(most_nodes, test_case.nodes.size());
    exact_graphs += graph_program_of(lowered)->program.may_be_exact ? 1 : 0;
    if (!is_integer(lowered.output_type()) || bits_of(lowered.output_type()) != 8) continue;
    const auto open = static_cast<std::int64_t>(lowered.statistics({}).ties.open);
    elements += elements_of(lowered.output_shape());
    tight += elements_of(lowered.output_shape()) - open;
  }
  EXPECT_GE(exact_graphs, kGraphs / 3);
  EXPECT_GE(tight * 100, elements * 95) << tight << " of " << elements;
  EXPECT_GT(most_nodes, 15U);
}

// Adds an output of a few elements of the value.
reference::graph::ValueId sampled(reference::graph::Program& program, reference::graph::ValueId value, Rng& rng) {
  const auto elements = elements_of(program.values[value].shape);
  reference::graph::Move sample;
  for (int i = 0; i < 3 && elements > 0; ++i) sample.index.push_back(rng.between(0, elements - 1));
  const auto taken = static_cast<std::int64_t>(sample.index.size());
  program.values.push_back({program.values[value].type, {taken}, {}});
  program.steps.push_back({std::move(sample), {value}, program.values.size() - 1, 0});
  return program.values.size() - 1;
}

// The program whose outputs are a few elements of each output, and of some values inside: their other readers need
// other elements.
reference::graph::Program with_samples(reference::graph::Program program, Rng& rng) {
  const auto steps = static_cast<std::int64_t>(program.steps.size());
  for (reference::graph::ValueId& output : program.outputs) output = sampled(program, output, rng);
  for (int i = 0; i < 3 && steps > 0; ++i) {
    const auto step = static_cast<std::size_t>(rng.between(0, steps - 1));
    const reference::graph::ValueId inside =
        rng.chance(1, 2) ? program.steps[step].result : program.steps[step].operands[0];
    program.outputs.push_back(sampled(program, inside, rng));
  }
  return program;
}

TEST(RandomGraphs, HaveTheSameSetsInTheirNeededPart) {
  namespace graph = reference::graph;
  constexpr std::uint64_t kGraphs = 1200;
  int parts = 0;
  for (std::uint64_t i = 0; i < kGraphs; ++i) {
    Rng rng(5, i);
    const Case test_case = graph_case(3, i);
    const Classification classification = classify(test_case);
    const graph::Program whole = with_samples(graph_program_of(*classification.lowered)->program, rng);
    graph::Answers given;
    for (const DynamicScale& scale : dynamic_scales(whole)) scale.give(0, given);
    const auto part = graph::needed_part(whole, given, whole.outputs);
    if (!part) continue;
    ++parts;
    for (const reference::Tier tier : graph::kGraphTiers) {
      const auto wide = graph::bounds_of(whole, tier, given);
      const auto narrow = graph::bounds_of(*part, tier, given);
      for (const graph::ValueId output : whole.outputs) {
        ASSERT_EQ(narrow[output].size(), wide[output].size());
        for (std::size_t k = 0; k < wide[output].size(); ++k) {
          // The part may have a coarser unit, and sums of fewer terms at most: then it proves more.
          ASSERT_TRUE(wide[output].is_open(k) || wide[output].at(k).contains(narrow[output].at(k)))
              << "graph " << i << ", tier " << static_cast<int>(tier) << ", element " << k;
          // A single number is the whole truth of the exact tier.
          const bool is_same = narrow[output].lo[k] == wide[output].lo[k] && narrow[output].hi[k] == wide[output].hi[k];
          const bool must_be = tier == reference::Tier::exact && wide[output].lo[k] == wide[output].hi[k];
          ASSERT_TRUE(is_same || !must_be) << "graph " << i << ", element " << k;
        }
      }
    }
  }
  EXPECT_GT(parts, 100);
}

TEST(RandomGraphs, DependOnSeedAndIndexAlone) {
  EXPECT_EQ(graph_case(7, 12), graph_case(7, 12));
  EXPECT_NE(digest_of(graph_case(7, 12)), digest_of(graph_case(8, 12)));
}

// A number that no sum of a small graph exceeds, in the bits of its type.
std::uint64_t great_number(ElementType type) {
  if (type == ElementType::boolean) return 1;
  if (is_integer(type)) return ~std::uint64_t{0} >> (64 - bits_of(type) + (is_unsigned_integer(type) ? 0 : 1));
  return pattern_of(type, bits_of(type) < 16 ? 240 : 10'000);
}

// Computes every graph right, but for those in which a Relu is: there the first output is too high everywhere. A
// smaller graph has to fail in the same way, whatever its type.
Outcome wrong_behind_relu(const Case& test_case) {
  const Expected expected = expect(test_case, {});
  if (!expected.output) return outcome::Unsupported{"out of contract"};
  outcome::Produced produced{expected.answers()};
  const bool has_relu = std::any_of(test_case.nodes.begin(), test_case.nodes.end(),
                                    [](const Node& node) { return node.op_type == "Relu"; });
  Tensor& first = produced.outputs[0];
  for (std::int64_t i = 0; has_relu && i < first.elements(); ++i) {
    set_raw_bits_at(first.bytes, bits_of(first.type), i, great_number(first.type));
  }
  return produced;
}

TEST(Graph, ShrinksToTheNodesThatAreWrong) {
  int shrunk = 0;
  for (std::uint64_t i = 0; i < 400 && shrunk < 12; ++i) {
    const Case failing = graph_case(3, i);
    if (judge(expect(failing, {}), wrong_behind_relu(failing)).kind != VerdictKind::wrong) continue;
    const shrink::Result result = shrink::shrink(failing, wrong_behind_relu, {});
    EXPECT_LE(result.smallest.nodes.size(), 4U) << result.smallest.op_types();
    EXPECT_THAT(result.smallest.op_types(), HasSubstr("Relu"));
    const auto part = shrink::failing_part(failing, wrong_behind_relu, {});
    ASSERT_TRUE(part);
    EXPECT_THAT(part->name(), HasSubstr("Relu"));
    ++shrunk;
  }
  EXPECT_EQ(shrunk, 12);
}

using unit::Unit;

CornerCaseCounts corner_cases_of(const Unit& described) {
  Rng rng(3, 5);
  const Case test_case = unit::build(described, rng);
  Expected expected = expect(test_case, {});
  assess(test_case, expected);
  return expected.corner_cases;
}

// Returns the ids of the corner cases of topic `graphs` that a unit reaches.
std::vector<std::string> reached(const Unit& described) {
  const CornerCaseCounts counts = corner_cases_of(described);
  std::vector<std::string> ids;
  for (const CornerCaseInfo& info : corner_cases()) {
    if (info.topic == CornerCaseTopic::graphs && counts[info.corner_case] > 0) ids.emplace_back(info.id);
  }
  return ids;
}

using Ids = std::vector<std::string>;

Unit with(const std::function<void(Unit&)>& change) {
  Unit described;
  change(described);
  return described;
}

TEST(GraphCornerCases, PlainUnitReachesNone) {
  EXPECT_EQ(reached({}), Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.w.layout = unit::kAxis0; })), Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.bias = unit::kExactBias; })), Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.activation = unit::kReluBehind; })), Ids{});
}

TEST(GraphCornerCases, BiasScales) {
  const auto with_ratio = [](double ratio, unit::Scales scales) {
    return reached(with([&](Unit& u) {
      u.bias = unit::kOtherBiasScale;
      u.bias_ratio = ratio;
      u.scales = scales;
    }));
  };
  EXPECT_EQ(with_ratio(1.009, unit::kOrdinary), Ids{"bias-scale-near"});
  EXPECT_EQ(with_ratio(1 + 0x1p-22, unit::kOrdinary), Ids{"bias-scale-near"});
  EXPECT_EQ(with_ratio(12, unit::kOrdinary), Ids{"bias-scale-far"});
  EXPECT_EQ(with_ratio(12, unit::kTiny), (Ids{"bias-scale-far", "tiny-bias-scale"}));
  EXPECT_EQ(with_ratio(0.98, unit::kTiny), (Ids{"bias-scale-near", "tiny-bias-scale"}));
  EXPECT_EQ(reached(with([](Unit& u) { u.bias = unit::kLargeBias; })), Ids{"bias-near-int32"});
  EXPECT_EQ(reached(with([](Unit& u) { u.bias = unit::kFloatBias; })), Ids{"real-bias"});
  // The bias of a MatMul is an Add's.
  const Unit matmul = with([](Unit& u) {
    u.compute = unit::kMatMul;
    u.bias = unit::kOtherBiasScale;
    u.bias_ratio = 0.5;
  });
  EXPECT_EQ(reached(matmul), Ids{"bias-scale-far"});
}

TEST(GraphCornerCases, ParametersAlongAnAxis) {
  EXPECT_EQ(reached(with([](Unit& u) { u.w.layout = unit::kAxis1; })), Ids{"weight-axis"});
  EXPECT_EQ(reached(with([](Unit& u) {
              u.compute = unit::kMatMul;
              u.w.layout = unit::kAxis0;
            })),
            Ids{"weight-axis"});
  EXPECT_EQ(reached(with([](Unit& u) {
              u.k = 9;
              u.w.layout = unit::kBlocks;
            })),
            (Ids{"weight-blocks", "cut-block"}));
  EXPECT_EQ(reached(with([](Unit& u) { u.x.layout = unit::kAxis1; })), Ids{"data-axis"});
  EXPECT_EQ(reached(with([](Unit& u) { u.y.layout = unit::kAxis1; })), Ids{"data-axis"});
}

TEST(GraphCornerCases, Activations) {
  EXPECT_EQ(reached(with([](Unit& u) { u.activation = unit::kClipAtEnds; })), Ids{"activation-at-end"});
  EXPECT_EQ(reached(with([](Unit& u) { u.activation = unit::kClipBehind; })), Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.activation = unit::kReversedClip; })), Ids{"activation-reversed"});
}

TEST(GraphCornerCases, Sums) {
  const auto gemm = [](unit::Factors factors, std::int64_t k) {
    return reached(with([&](Unit& u) {
      u.compute = unit::kGemm;
      u.factors = factors;
      u.k = k;
    }));
  };
  EXPECT_EQ(gemm(unit::kNoFactors, 8), Ids{});
  EXPECT_EQ(gemm(unit::kAlpha, 8), Ids{"scaled-terms"});
  EXPECT_EQ(gemm(unit::kNoFactors, 0), Ids{"no-terms"});
  EXPECT_EQ(gemm(unit::kNoFactors, 33026), Ids{"many-terms"});
}

TEST(GraphCornerCases, SeveralReaders) {
  EXPECT_EQ(reached(with([](Unit& u) { u.consumers = unit::kDequantizedToo; })), Ids{"shared-value"});
  EXPECT_EQ(reached(with([](Unit& u) { u.alike = unit::kSameInitializers; })), Ids{"shared-parameters"});
  EXPECT_EQ(reached(with([](Unit& u) { u.alike = unit::kAlike; })), Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.is_twice = true; })), (Ids{"shared-value", "shared-weights"}));
}

TEST(GraphCornerCases, Movement) {
  EXPECT_EQ(reached(with([](Unit& u) { u.path = unit::kTransposed; })), Ids{"moved-operand"});
  EXPECT_EQ(reached(with([](Unit& u) { u.path = unit::kRequantized; })), Ids{"requantized-pair"});
  EXPECT_EQ(reached(with([](Unit& u) { u.compute = unit::kTranspose; })), Ids{"requantized-movement"});
  EXPECT_EQ(reached(with([](Unit& u) { u.compute = unit::kMaxPool; })), Ids{"requantized-movement"});
  EXPECT_EQ(reached(with([](Unit& u) {
              u.compute = unit::kMaxPool;
              u.alike = unit::kSameInitializers;
            })),
            Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.compute = unit::kConcat; })), Ids{"unlike-operands"});
}

TEST(GraphCornerCases, WhatIsLeftOut) {
  EXPECT_EQ(reached(with([](Unit& u) { u.y.zero_point = unit::kByType; })),
            (Ids{"typed-output", "omitted-zero-point"}));
  EXPECT_EQ(reached(with([](Unit& u) { u.x.zero_point = unit::kOmitted; })), Ids{"omitted-zero-point"});
  EXPECT_EQ(reached(with([](Unit& u) {
              u.compute = unit::kSoftmax;
              u.width = 1;
            })),
            Ids{"one-element-softmax"});
}

TEST(GraphCornerCases, AreDrawnForValidCases) {
  for (const CornerCaseInfo& info : corner_cases()) {
    if (info.topic != CornerCaseTopic::graphs) continue;
    int reached = 0;
    for (std::uint64_t i = 0; i < 6; ++i) {
      Rng rng(11, i);
      const Case drawn = draw_graph_for(rng, info.corner_case);
      Expected expected = expect(drawn, {});
      ASSERT_EQ(expected.classification.expectation(), Expectation::valid) << info.id << ", draw " << i;
      assess(drawn, expected);
      reached += expected.corner_cases[info.corner_case] > 0 ? 1 : 0;
    }
    EXPECT_GT(reached, 1) << info.id;
  }
}

// Such a graph breaks the rules, and a backend's answer to it may have to be shrunk all the same.
TEST(GraphExtents, CutTheAxesOfTheirOwnTensorWhereTwoHaveOneName) {
  Case test_case = half_and_one();
  test_case.inputs = {make::float32(1), make::uint8({4}, {1, 2, 3, 4})};
  test_case.input_names = {"x", "x"};
  const auto extents = shrink::graph_extents(test_case, {});
  ASSERT_EQ(extents.size(), 1U);
  const Case cut = extents[0].cut(test_case, {0, 2});
  EXPECT_EQ(cut.inputs[0], test_case.inputs[0]);
  EXPECT_EQ(*cut.inputs[1], make::uint8({2}, {1, 3}));
}

}  // namespace
}  // namespace qconform

namespace qconform::unit {
namespace {

using sweep::Plan;
using sweep::Row;

std::string row_text(const sweep::Model& model, const Row& row) {
  std::string text;
  for (std::size_t p = 0; p < row.size(); ++p) {
    const sweep::Parameter& parameter = model.parameters[p];
    const std::string found = row[p] < parameter.classes.size() ? parameter.classes[row[p]] : "?";
    text += parameter.name + "=" + found + " ";
  }
  return text;
}

// Whether the case is valid and read back with its classes.
void expect_realised(const sweep::SweptModel& swept, const Row& row, const Case& made) {
  const Classification classification = classify(made);
  const auto* remark = classification.deciding_remark();
  ASSERT_EQ(classification.expectation(), Expectation::valid) << (remark == nullptr ? "" : remark->text()) << "\n"
                                                              << row_text(swept.model(), row);
  const Row found = swept.classify(made, sweep::ask_all);
  EXPECT_EQ(found, row) << row_text(swept.model(), row) << "\n" << row_text(swept.model(), found);
}

class SweptUnits : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const Plan& plan() { return sweep::unit_plans()[GetParam()]; }
};

INSTANTIATE_TEST_SUITE_P(Models, SweptUnits, ::testing::Values(0, 1, 2));

TEST_P(SweptUnits, CoverEveryFeasibleTriple) {
  const CombinationCoverage& coverage = plan().proof.coverage;
  EXPECT_GT(coverage.feasible, 10000U);
  EXPECT_EQ(coverage.covered, coverage.feasible);
  for (std::size_t p = 0; p < plan().swept.model().parameters.size(); ++p) {
    const sweep::Parameter& parameter = plan().swept.model().parameters[p];
    std::set<std::uint8_t> met;
    for (const Row& row : plan().rows) met.insert(row[p]);
    const bool is_layout = p == kXLayout || p == kYLayout;  // some models have fewer of them
    EXPECT_TRUE(is_layout || met.size() == parameter.classes.size()) << parameter.name;
  }
}

TEST_P(SweptUnits, RowsAreValidCasesWithTheirClasses) {
  for (std::size_t i = 0; i < plan().rows.size() && !HasFatalFailure(); ++i) {
    expect_realised(plan().swept, plan().rows[i], sweep_case(plan(), i, 1));
  }
}

// Rows that the array does not have.
TEST_P(SweptUnits, AnyRowIsAValidCaseWithItsClasses) {
  const sweep::Model& model = plan().swept.model();
  const sweep::ConstraintSolver solver(model);
  Rng rng(17, GetParam());
  for (int i = 0; i < testing::scaled(300) && !HasFatalFailure(); ++i) {
    const auto row = solver.draw(solver.start(), rng);
    ASSERT_TRUE(row.has_value());
    expect_realised(plan().swept, *row, plan().swept.realise(*row, 2, static_cast<std::uint64_t>(i)));
  }
}

TEST_P(SweptUnits, ProveSomething) {
  std::size_t vacuous = 0;
  for (std::size_t i = 0; i < plan().rows.size(); ++i) {
    const Case made = sweep_case(plan(), i, 1);
    Expected expected = expect(made, {});
    assess(made, expected);
    vacuous += expected.vacuous_because.empty() ? 0 : 1;
  }
  EXPECT_LT(vacuous * 4, plan().rows.size()) << vacuous << " of " << plan().rows.size();
}

}  // namespace
}  // namespace qconform::unit
