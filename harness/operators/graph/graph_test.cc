#include "harness/operators/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "harness/engine/shrink/shrink.h"
#include "harness/judge/judge.h"
#include "harness/operators/case_builder.h"
#include "harness/operators/graph/graph_builder.h"
#include "harness/operators/graph/random.h"
#include "harness/operators/graph/shrink.h"

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

TEST(Graph, WithoutNodesIsRefused) {
  Case nothing;
  nothing.nodes.clear();
  EXPECT_EQ(classify(nothing).expectation(), Expectation::invalid);
}

// How much of what the random suite draws says something.
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

TEST(RandomGraphs, DependOnSeedAndIndexAlone) {
  EXPECT_EQ(graph_case(7, 12), graph_case(7, 12));
  EXPECT_NE(digest_of(graph_case(7, 12)), digest_of(graph_case(8, 12)));
}

// Computes every graph right, but for those in which a Relu is: there every element of the last output is another one.
Outcome wrong_behind_relu(const Case& test_case) {
  const Expected expected = expect(test_case, {});
  if (!expected.output) return outcome::Unsupported{"out of contract"};
  outcome::Produced produced{*expected.output};
  produced.outputs.insert(produced.outputs.end(), expected.further_outputs.begin(), expected.further_outputs.end());
  const bool has_relu = std::any_of(test_case.nodes.begin(), test_case.nodes.end(),
                                    [](const Node& node) { return node.op_type == "Relu"; });
  if (has_relu && !produced.outputs[0].bytes.empty()) produced.outputs[0].bytes[0] ^= std::byte{0x40};
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
    EXPECT_THAT(shrink::graph_culprit(failing, wrong_behind_relu, {}), HasSubstr("Relu"));
    ++shrunk;
  }
  EXPECT_EQ(shrunk, 12);
}

}  // namespace
}  // namespace qconform
