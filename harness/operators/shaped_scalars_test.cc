// A parameter of one element means the same in every shape.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/engine/relation_check.h"
#include "harness/graphs/wiring.h"
#include "harness/model/draws/rng.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/listed_suite.h"
#include "harness/suites/random.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {
namespace {

// The positions of the inputs of a node that are scales and zero points.
std::vector<std::size_t> parameters_of(const Node& node) {
  if (node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear") return {1, 2};
  if (node.op_type == "QLinearMatMul") return {1, 2, 4, 5, 6, 7};
  if (node.op_type == "MatMulInteger" || node.op_type == "ConvInteger") return {2, 3};
  if (node.op_type == "QLinearConv") return {1, 2, 4, 5, 6, 7};
  return {};
}

bool has_blocks(const Case& test_case) {
  return std::any_of(test_case.nodes.begin(), test_case.nodes.end(), [](const Node& node) {
    return std::any_of(node.attributes.begin(), node.attributes.end(),
                       [](const Attribute& attribute) { return attribute.name == "block_size"; });
  });
}

// Positions of the case's tensors that are such inputs.
std::set<std::size_t> parameters_of(const Case& test_case) {
  std::set<std::size_t> positions;
  for (const Node& node : test_case.nodes) {
    for (const std::size_t input : parameters_of(node)) {
      if (test_case.is_one_node()) {
        positions.insert(input);
      } else if (input < node.inputs.size()) {
        const auto found = std::find(test_case.input_names.begin(), test_case.input_names.end(), node.inputs[input]);
        if (found != test_case.input_names.end()) {
          positions.insert(static_cast<std::size_t>(found - test_case.input_names.begin()));
        }
      }
    }
  }
  return positions;
}

// Every parameter of one element gets that many dimensions.
Case with_rank(Case test_case, std::size_t rank) {
  for (const std::size_t position : parameters_of(test_case)) {
    if (position >= test_case.inputs.size() || !test_case.inputs[position]) continue;
    Tensor& tensor = *test_case.inputs[position];
    if (tensor.elements() == 1) tensor.shape.assign(rank, 1);
  }
  return test_case;
}

TEST(ShapedScalars, GetTheVerdictsOfScalars) {
  const auto scalar = backend::select("scalar", RoundingProfile::correctly_rounded);
  const auto graphs = backend::select("interpreter", RoundingProfile::correctly_rounded);
  ASSERT_TRUE(scalar && graphs);
  GuardedOutput memory;
  std::set<std::string> compared;
  for (std::uint64_t index = 0; index < 400; ++index) {
    const Case drawn = random_case(11, index);
    if (has_blocks(drawn)) continue;
    const Case base = with_rank(drawn, 0);
    const Expected right = expect(base, {});
    for (const std::size_t rank : {1U, 2U, 3U}) {
      const Case shaped = with_rank(drawn, rank);
      if (shaped == base) continue;
      const Expected same = expect(shaped, {});
      ASSERT_EQ(same.classification.expectation(), right.classification.expectation()) << drawn.id << " " << rank;
      ASSERT_EQ(same.output, right.output) << drawn.id;
      ASSERT_EQ(same.further_outputs, right.further_outputs) << drawn.id;
      Backend& backend = base.is_one_node() ? **scalar : **graphs;
      EXPECT_EQ(judge(same, execute(backend, shaped, memory)).kind, judge(right, execute(backend, base, memory)).kind)
          << drawn.id << " " << rank;
      EXPECT_EQ(judge(same, outcome::Unsupported{"no"}).kind, judge(right, outcome::Unsupported{"no"}).kind);
      for (const Node& node : base.nodes) compared.insert(node.op_type);
    }
  }
  for (const char* op_type : {"QLinearConv", "ConvInteger", "QuantizeLinear", "DequantizeLinear"}) {
    EXPECT_TRUE(compared.contains(op_type)) << op_type;
  }
}

// Relations derive cases from what a parameter is, not from its shape.
TEST(ShapedScalars, KeepEveryRelation) {
  std::vector<Case> shaped;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const Case drawn = random_case(12, index);
    if (has_blocks(drawn) || !drawn.is_one_node()) continue;
    for (const std::size_t rank : {1U, 2U}) {
      const Case test_case = with_rank(drawn, rank);
      if (classify(test_case).expectation() == Expectation::valid) shaped.push_back(test_case);
    }
  }
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<testing::ListedSuite>(std::move(shaped)));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::move(*backend::select("scalar", RoundingProfile::correctly_rounded)));
  Report report;
  ASSERT_TRUE(run_relations(suites, backends, {}, report));
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].example.id << ": " << report.findings[0].verdict.rule
                                       << ": " << report.findings[0].verdict.detail;
}

// A contract is learnt by class, and a kernel that takes scalars may refuse a shape. A shape of one dimension may also
// be that of one value for each position: these have two.
TEST(ShapedScalars, HaveNoClass) {
  std::size_t compared = 0;
  for (std::uint64_t index = 0; index < 400; ++index) {
    const Case drawn = random_case(13, index);
    if (has_blocks(drawn) || !drawn.is_one_node()) continue;
    const Case base = with_rank(drawn, 0);
    const Case shaped = with_rank(drawn, 2);
    if (classify(base).expectation() != Expectation::valid || shaped == base || !sweep::place_of(base)) continue;
    ++compared;
    EXPECT_FALSE(sweep::place_of(shaped)) << drawn.id;
  }
  EXPECT_GT(compared, 100U);
}

}  // namespace
}  // namespace qconform
