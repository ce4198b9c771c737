// Random quantized graphs against ball arithmetic.
#include <gtest/gtest.h>

#include "harness/graphs/case_graph.h"
#include "harness/model/operator.h"
#include "harness/operators/graph/graph.h"
#include "harness/operators/graph/graph_draft.h"
#include "harness/tests/arbitrary_case.h"
#include "harness/tests/test_scale.h"
#include "reference/oracle/graph_check.h"

namespace qconform {
namespace {

void check_graphs(std::uint64_t seed, std::uint64_t graphs, oracle::SetCheck& check) {
  for (std::uint64_t i = 0; i < graphs; ++i) {
    const Case test_case = graph_case(seed, i);
    reference::Contract contract;
    const auto lowered = lower_graph(test_case, contract);
    ASSERT_TRUE(lowered.has_value());
    check_sets(lowered->program, check);
    ASSERT_EQ(check.outside, 0) << test_case.id << ": " << check.first_outside;
    ASSERT_EQ(check.narrower, 0) << test_case.id << ": " << check.first_outside;
  }
}

// Few values are undecided: those behind DynamicQuantizeLinear of zeros, whose scale is open, and of a range that lies
// about 0 evenly, whose zero point is a tie that balls do not decide.
TEST(GraphBalls, HoldRandomGraphs) {
  oracle::SetCheck check;
  check_graphs(21, static_cast<std::uint64_t>(testing::scaled(300)), check);
  EXPECT_LT(check.undecided * 20, check.elements);
}

TEST(GraphBallsSlow, AMillionElementsOfRandomGraphs) {
  oracle::SetCheck check;
  for (std::uint64_t seed = 22; check.elements < 1'000'000; ++seed) check_graphs(seed, 1000, check);
  EXPECT_LT(check.undecided * 20, check.elements);
}

// Nodes of one operator, at newest versions.
void check_nodes(std::string_view op_type, std::int64_t elements) {
  oracle::SetCheck check;
  for (std::uint64_t i = 0; check.elements < elements; ++i) {
    Rng rng(31, i);
    const Case test_case = testing::arbitrary_node(rng, op_type, kNewestOpset);
    reference::Contract contract;
    const auto lowered = lower_graph(test_case, contract);
    if (!lowered) continue;
    check_sets(lowered->program, check);
    ASSERT_EQ(check.outside, 0) << op_type << " " << i << ": " << check.first_outside;
    ASSERT_EQ(check.narrower, 0) << op_type << " " << i << ": " << check.first_outside;
    ASSERT_EQ(check.undecided, 0) << op_type << " " << i;
  }
  EXPECT_EQ(check.undecided, 0) << op_type;
}

TEST(GraphBalls, HoldResizedAndRecurrentNodes) {
  for (const char* op_type : {"Resize", "LSTM", "GRU"}) check_nodes(op_type, 10'000);
}

TEST(GraphBallsSlow, AMillionElementsOfResizedAndRecurrentNodes) {
  for (const char* op_type : {"Resize", "LSTM", "GRU"}) check_nodes(op_type, 1'000'000);
}

// Nodes that are drawn as a graph of their own. Undecided is what follows from a first state of zeros, whose scale is
// open.
void check_alone(std::string_view op_type, std::int64_t elements) {
  oracle::SetCheck check;
  for (std::uint64_t i = 0; check.elements < elements; ++i) {
    drawn_graphs::GraphDraft draft(41, i, kNewestOpset);
    const Case test_case = drawn_graphs::draw_alone(draft);
    if (test_case.nodes.back().op_type != op_type) continue;
    reference::Contract contract;
    const auto lowered = lower_graph(test_case, contract);
    ASSERT_TRUE(lowered.has_value()) << op_type << " " << i;
    check_sets(lowered->program, check);
    ASSERT_EQ(check.outside, 0) << op_type << " " << i << ": " << check.first_outside;
    ASSERT_EQ(check.narrower, 0) << op_type << " " << i << ": " << check.first_outside;
  }
  EXPECT_LT(check.undecided * 3, check.elements) << op_type;
}

TEST(GraphBalls, HoldNodesThatAreDrawnAlone) {
  for (const char* op_type : {"QMoE", "GatherBlockQuantized", "DynamicQuantizeLSTM"}) check_alone(op_type, 2'000);
}

TEST(GraphBallsSlow, AMillionElementsOfNodesThatAreDrawnAlone) {
  for (const char* op_type : {"QMoE", "GatherBlockQuantized", "DynamicQuantizeLSTM"}) check_alone(op_type, 1'000'000);
}

}  // namespace
}  // namespace qconform
