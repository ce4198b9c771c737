#include "harness/graphs/wiring.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "harness/model/case_builder.h"
#include "harness/model/family.h"

namespace qconform {
namespace {

// a is quantized and dequantized again, with one scale.
Case round_trip() {
  Case result;
  result.nodes = {{"QuantizeLinear", "", 13, {}, {"a", "s", ""}, {"q"}},
                  {"DequantizeLinear", "ai.onnx", 13, {}, {"q", "s"}, {"b"}}};
  result.inputs = {make::float32({1}, {2.5F}), make::float32(0.5F)};
  result.input_names = {"a", "s"};
  result.fed_inputs = 1;
  result.outputs = {"b"};
  result.recorded_outputs = {make::float32({1}, {2.5F})};
  return result;
}

std::string fault_of(Case test_case, const std::function<void(Case&)>& change) {
  change(test_case);
  const auto wired = check_wiring(test_case);
  return wired ? "" : wired.error().text();
}

TEST(Wiring, AcceptsNodesThatFindTheirInputsComputed) {
  EXPECT_EQ(fault_of(round_trip(), [](Case&) {}), "");
  EXPECT_EQ(fault_of(round_trip(), [](Case& c) { c.outputs = {"q", "b"}, c.recorded_outputs.clear(); }), "");
}

TEST(Wiring, NamesWhatDoesNotFit) {
  const auto fault = [](const std::function<void(Case&)>& change) { return fault_of(round_trip(), change); };
  EXPECT_EQ(fault([](Case& c) { std::swap(c.nodes[0], c.nodes[1]); }),
            "nodes[0].inputs: 'q' is no tensor of the case and no output of an earlier node [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.nodes[1].outputs = {"q"}; }), "nodes[1].outputs: 'q' names two values [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.nodes[1].outputs = {""}; }),
            "nodes[1].outputs: the node computes nothing [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.inputs[1].reset(); }), "inputs[1]: has no tensor [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.input_names[1] = "a"; }), "inputs[1]: 'a' names two values [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.input_names[1] = ""; }), "inputs[1]: a value has no name [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.input_names.pop_back(); }), "inputs: 2 tensors have 1 names [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.input_names[1] = "qconform.s"; }),
            "inputs[1]: 'qconform.s' is a name of qconform's own [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.fed_inputs = 3; }), "inputs: 3 of 2 are inputs of the graph [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.outputs.clear(); }), "outputs: the graph has none [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.outputs = {"c"}; }), "outputs: 'c' is computed by no node [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.outputs = {"a"}; }), "outputs: 'a' is an input, or named twice [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.nodes[1].opset_version = 10; }),
            "opset_version: domain '' has versions 13 and 10 [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.recorded_outputs.clear(), c.recorded_outputs.resize(2); }),
            "recorded_outputs: 2 are recorded of 1 [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.nodes.resize(257, c.nodes[0]); }), "nodes: 257 exceed the limit of 256 [rule limit]");
  EXPECT_EQ(fault([](Case& c) { c.nodes.pop_back(); }),
            "nodes: QuantizeLinear alone stands in the case itself: its values have no names [rule graph]");
}

TEST(Graph, HasAnOperatorAndAFamilyOfItsOwn) {
  const Case graph = round_trip();
  EXPECT_EQ(graph.op_types(), "QuantizeLinear+DequantizeLinear");
  EXPECT_EQ(graph.subject(), "Graph");
  ASSERT_NE(operator_of(graph), nullptr);
  EXPECT_EQ(operator_of(graph)->name, graph.subject());
  EXPECT_EQ(family_of(graph)->name, "graph");
  EXPECT_EQ(input_name(graph, 1), "s");
  EXPECT_EQ(classify(graph).expectation(), Expectation::valid);
  Case node;
  node.node().op_type = "Graph";
  EXPECT_EQ(operator_of(node), nullptr) << "no node has the name of graphs";
}

TEST(Graph, IsAnotherCaseWithOtherNamesOrOrder) {
  Case graph = round_trip();
  const std::uint64_t digest = digest_of(graph);
  for (const auto& change : {+[](Case& c) { c.nodes[1].inputs[1] = "a"; }, +[](Case& c) { c.outputs = {"q"}; },
                             +[](Case& c) { c.fed_inputs = 2; }, +[](Case& c) { c.nodes[1].op_type = "Cast"; }}) {
    Case other = graph;
    change(other);
    EXPECT_NE(digest_of(other), digest);
  }
  graph.id = "another";
  EXPECT_EQ(digest_of(graph), digest);
}

}  // namespace
}  // namespace qconform
