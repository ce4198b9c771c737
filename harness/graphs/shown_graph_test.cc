#include "harness/graphs/shown_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/graphs/graph_builder.h"
#include "harness/model/case_builder.h"

namespace qconform {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Case flattened() {
  GraphBuilder graph(13);
  const std::string x = graph.input(make::uint8({1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const std::string a = graph.node("DequantizeLinear", {x, graph.initializer(make::float32(0.5F))});
  return graph.build({graph.node("Flatten", {a}, {{"axis", std::int64_t{2}}})});
}

TEST(ShownGraph, NamesEveryValueWithTypeAndShape) {
  const Case test_case = flattened();
  const CaseGraph shown = shown_graph(test_case);
  ASSERT_EQ(shown.nodes.size(), 2U);
  EXPECT_EQ(shown.nodes[1].op_type, "Flatten");
  EXPECT_THAT(shown.nodes[1].attributes, ElementsAre(Pair("axis", "2")));
  EXPECT_EQ(shown.nodes[0].inputs, test_case.nodes[0].inputs);
  EXPECT_EQ(shown.outputs, test_case.outputs);
  using Value = CaseGraph::Value;
  EXPECT_THAT(shown.initializers, ElementsAre(Value{test_case.input_names[1], "float", {}, {"0.5"}}));
  EXPECT_THAT(shown.computed, ElementsAre(Value{test_case.nodes[0].outputs[0], "float", {1, 3, 3}, {}},
                                          Value{test_case.outputs[0], "float", {3, 3}, {}}));
}

TEST(ShownGraph, LeavesOutTheDataOfLargerTensors) {
  Case test_case = flattened();
  EXPECT_THAT(shown_graph(test_case).inputs.at(0).data, IsEmpty());
  test_case.inputs[0] = make::uint8({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(shown_graph(test_case).inputs.at(0).data, ElementsAre("1", "2", "3", "4", "5", "6", "7", "8"));
}

TEST(ShownGraph, KnowsNoComputedValuesOutOfContract) {
  Case test_case = flattened();
  test_case.nodes[1].op_type = "Unknown";
  const CaseGraph shown = shown_graph(test_case);
  EXPECT_EQ(shown.nodes.size(), 2U);
  EXPECT_THAT(shown.computed, IsEmpty());
}

}  // namespace
}  // namespace qconform
