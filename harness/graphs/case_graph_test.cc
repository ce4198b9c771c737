#include "harness/graphs/case_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/model/family.h"
#include "harness/model/operator.h"
#include "harness/operators/graph/graph.h"
#include "harness/tests/test_scale.h"

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
            "nodes[0].inputs: 'q' names neither a tensor of the case nor an output of an earlier node [rule graph]");
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
  EXPECT_EQ(fault([](Case& c) { c.shown_outputs = {"q"}; }),
            "shown_outputs: 'q' is no output, or named twice [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.shown_outputs = c.outputs; }),
            "shown_outputs: names every output: nothing is judged [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.nodes[1].opset_version = 10; }),
            "opset_version: domain '' has versions 13 and 10 [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.recorded_outputs.clear(), c.recorded_outputs.resize(2); }),
            "recorded_outputs: expected 1 or none, got 2 [rule graph]");
  EXPECT_EQ(fault([](Case& c) { c.nodes.resize(257, c.nodes[0]); }), "nodes: 257 exceed the limit of 256 [rule limit]");
  EXPECT_EQ(fault([](Case& c) { c.nodes.pop_back(); }),
            "nodes: QuantizeLinear alone stands in the case itself: its values have no names [rule graph]");
}

// One tensor may be read twice, and others not at all.
TEST(Wiring, PutsAnOperatorInItsOwnOrder) {
  Case graph;
  graph.nodes = {{"DequantizeLinear", "", 13, {}, {"q", "s", "q"}, {"r"}}};
  graph.inputs = {make::float32(0.5F), make::float32(2.0F), make::uint8({}, {7})};
  graph.input_names = {"s", "unread", "q"};
  graph.fed_inputs = 1;
  graph.outputs = {"r"};
  const auto fitting = wired(graph);
  ASSERT_TRUE(fitting) << fitting.error().text();
  EXPECT_EQ(fitting->inputs, (std::vector<std::optional<Tensor>>{graph.inputs[2], graph.inputs[0], graph.inputs[2]}));
  EXPECT_EQ(named_nodes(*fitting).front().inputs, (std::vector<std::string>{"x", "x_scale", "x_zero_point"}));
  EXPECT_EQ(in_own_order(*fitting), *fitting);
  EXPECT_EQ(classify(*fitting).expectation(), Expectation::valid);
  EXPECT_EQ(wired(round_trip()), round_trip()) << "graphs stay as they are";
  graph.nodes[0].inputs[0] = "t";
  ASSERT_FALSE(wired(graph));
  EXPECT_EQ(wired(graph).error().text(),
            "nodes[0].inputs: 't' names neither a tensor of the case nor an output of an earlier node [rule graph]");
  graph.nodes[0].inputs[0] = "q";
  graph.nodes[0].outputs = {"r", "more"};
  ASSERT_FALSE(wired(graph));
  EXPECT_EQ(wired(graph).error().text(), "outputs: a case of DequantizeLinear has one output, got 2 [rule graph]");
}

TEST(Graph, HasAnOperatorAndAFamilyOfItsOwn) {
  const Case graph = round_trip();
  EXPECT_TRUE(is_judged_as_graph(graph));
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

namespace qconform::lowering {
namespace {

using namespace reference::graph;

// x and w dequantized, a convolution with a bias of int32, Relu, and quantized again.
Case quantized_convolution() {
  Case result;
  result.nodes = {{"DequantizeLinear", "", 13, {}, {"x", "xs", "xz"}, {"xf"}},
                  {"DequantizeLinear", "", 13, {{"axis", std::int64_t{0}}}, {"w", "ws"}, {"wf"}},
                  {"DequantizeLinear", "", 13, {{"axis", std::int64_t{0}}}, {"b", "bs"}, {"bf"}},
                  {"Conv", "", 13, {{"pads", std::vector<std::int64_t>{0, 1}}}, {"xf", "wf", "bf"}, {"c"}},
                  {"Relu", "", 13, {}, {"c"}, {"r"}},
                  {"QuantizeLinear", "", 13, {}, {"r", "ys", "yz"}, {"y"}}};
  result.inputs = {make::uint8({1, 1, 3}, {1, 2, 3}),    make::float32(0.5F),
                   make::integer(ElementType::uint8, 1), make::int8({2, 1, 2}, {1, 2, 3, -4}),
                   make::float32({2}, {0.25F, 2.0F}),    make::int32({2}, {5, -6}),
                   make::float32({2}, {0.125F, 1.0F}),   make::float32(4.0F),
                   make::integer(ElementType::int8, 3)};
  result.input_names = {"x", "xs", "xz", "w", "ws", "b", "bs", "ys", "yz"};
  result.fed_inputs = 1;
  result.outputs = {"y"};
  return result;
}

// One node on inputs of those shapes, floats unless stated, and an Identity behind it.
Case node_on(std::string op_type, std::int64_t opset, std::vector<Tensor> inputs,
             std::vector<Attribute> attributes = {}) {
  Case result;
  result.nodes = {{std::move(op_type), "", opset, std::move(attributes), {}, {"o"}},
                  {"Identity", "", opset, {}, {"o"}, {"y"}}};
  for (Tensor& tensor : inputs) {
    const std::string name = "i" + std::to_string(result.inputs.size());
    result.nodes[0].inputs.push_back(name);
    result.input_names.push_back(name);
    result.inputs.emplace_back(std::move(tensor));
  }
  result.fed_inputs = inputs.empty() ? 0 : 1;
  result.outputs = {"y"};
  return result;
}

Tensor floats(std::vector<std::int64_t> shape) {
  return Tensor::zeros(ElementType::float32, std::move(shape));
}
Tensor list(const std::vector<std::int64_t>& values) {
  return make::integers(ElementType::int64, {static_cast<std::int64_t>(values.size())}, values);
}

struct Attempt {
  std::optional<GraphProgram> graph;
  reference::Contract contract;

  [[nodiscard]] std::string fault() const { return contract.holds() ? "" : contract.violation->text(); }
};

Attempt lower(const Case& test_case) {
  Attempt result;
  EXPECT_TRUE(check_wiring(test_case)) << check_wiring(test_case).error().text();
  result.graph = lower_graph(test_case, result.contract);
  EXPECT_EQ(result.graph.has_value(), result.contract.holds());
  return result;
}
Attempt lower(const std::function<void(Case&)>& change) {
  Case test_case = quantized_convolution();
  change(test_case);
  return lower(test_case);
}

TEST(Lowering, MakesAStepOfEachNode) {
  const auto result = lower(quantized_convolution());
  ASSERT_TRUE(result.graph) << result.fault();
  const Program& program = result.graph->program;
  ASSERT_EQ(program.steps.size(), 6);
  EXPECT_TRUE(std::holds_alternative<Dequantize>(program.steps[0].what));
  const auto& sum = std::get<WeightedSum>(program.steps[3].what);
  EXPECT_EQ(sum.c_index, (std::vector<std::int64_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(program.steps[3].operands.size(), 3);
  EXPECT_EQ(program.steps[3].node, 3);
  ASSERT_EQ(program.outputs.size(), 1);
  EXPECT_EQ(result.graph->names[program.outputs[0]], "y");
  EXPECT_EQ(result.graph->types[program.outputs[0]], ElementType::int8);
  EXPECT_EQ(program.values[program.outputs[0]].shape, (Shape{1, 2, 3}));
  EXPECT_EQ(program.values[0].stated, (std::vector<double>{1, 2, 3}));
  EXPECT_TRUE(program.may_be_exact);
  EXPECT_TRUE(result.contract.implementation_defined.empty());
}

TEST(Lowering, TellsWhichProgramsMayBeExact) {
  const auto is_exact = [](const std::function<void(Case&)>& change) {
    const auto result = lower(change);
    return result.graph && result.graph->program.may_be_exact;
  };
  EXPECT_FALSE(is_exact([](Case& c) { c.inputs[1] = make::float32(0.3F); }));                 // x_scale
  EXPECT_FALSE(is_exact([](Case& c) { c.inputs[7] = make::float32(3.0F); }));                 // y_scale
  EXPECT_FALSE(is_exact([](Case& c) { c.inputs[7] = make::float32(0x1p-31F); }));             // out of the domain
  EXPECT_FALSE(is_exact([](Case& c) { c.inputs[6] = make::float32({2}, {0.125F, 0.5F}); }));  // a bias scale
  EXPECT_FALSE(is_exact([](Case& c) { c.inputs[1] = make::float32(1.0F); }));                 // all of them
  EXPECT_FALSE(is_exact([](Case& c) { c.nodes[4].op_type = "Sigmoid"; }));
  EXPECT_TRUE(is_exact([](Case& c) {
    c.nodes[4].op_type = "LeakyRelu";
    c.nodes[4].attributes = {{"alpha", 0.25F}};
  }));
  EXPECT_FALSE(is_exact([](Case& c) { c.nodes[4].op_type = "LeakyRelu"; }));
  EXPECT_TRUE(is_exact([](Case& c) {  // the bias, moved
    c.nodes.insert(c.nodes.begin() + 3, {"Identity", "", 13, {}, {"bf"}, {"bg"}});
    c.nodes[4].inputs[2] = "bg";
  }));
}

TEST(Lowering, NamesNodeFieldAndRule) {
  const auto fault = [](const std::function<void(Case&)>& change) { return lower(change).fault(); };
  EXPECT_EQ(fault([](Case& c) { c.nodes[3].attributes[0].value = std::vector<std::int64_t>{1}; }),
            "nodes[3].pads: expected 2 values (1 spatial dim, begin and end), got 1 [rule C8]");
  EXPECT_EQ(fault([](Case& c) { c.nodes[3].attributes[0].name = "padding"; }),
            "nodes[3].padding: Conv has no such attribute at opset 13 [rule signature]");
  EXPECT_EQ(fault([](Case& c) { c.nodes[3].attributes[0].value = 1.0F; }),
            "nodes[3].pads: expected a list of integers, got a float [rule signature]");
  EXPECT_EQ(fault([](Case& c) { c.nodes[3].inputs[2] = "xf"; }),
            "nodes[3].B: expected shape [2], got [1, 1, 3] [rule Conv]");
  EXPECT_EQ(fault([](Case& c) { c.nodes[3].inputs[1] = "w"; }),
            "nodes[3].inputs[1]: expected element type float, float16 or double, got int8 [rule signature]");
  EXPECT_EQ(fault([](Case& c) { c.nodes[3].inputs.pop_back(), c.nodes[3].inputs.pop_back(); }),
            "nodes[3].inputs: expected 2 to 3 at opset 13, got 1 [rule signature]");
  EXPECT_EQ(fault([](Case& c) {
              c.inputs[6] = make::float32({3}, {1, 2, 3});
            }),
            "nodes[2].x_scale: expected one value for each of the 2 positions of axis 0, got 3 [rule D7]");
  EXPECT_EQ(fault([](Case& c) { c.nodes[0].inputs[1] = "w"; }),
            "nodes[0].x_scale: expected element type float, got int8 [rule signature]");
  EXPECT_EQ(fault([](Case& c) { c.nodes[5].inputs[1] = "r"; }),
            "nodes[5].y_scale: 'r' is computed: computed shapes are not judged [rule limit]");
  EXPECT_NE(fault([](Case& c) {
              c.nodes[4].op_type = "Foo";
            }).find("Foo is not an operator that qconform knows [rule operator]"),
            std::string::npos);
  EXPECT_NE(fault([](Case& c) {
              c.nodes[4].domain = "com.microsoft";
            }).find("com.microsoft::Relu is not an operator that qconform knows [rule operator]"),
            std::string::npos);
  EXPECT_EQ(fault([](Case& c) { c.nodes[4].op_type = "Gelu"; }),
            "nodes[4].op_type: Gelu does not exist at opset 13 [rule opset]");
}

TEST(Lowering, KeepsWhatSingleOperatorsLeaveToImplementations) {
  const auto result = lower([](Case& c) { c.inputs[7] = make::float32(0.0F); });
  ASSERT_TRUE(result.graph);
  EXPECT_TRUE(result.graph->value_is_open);
  ASSERT_EQ(result.contract.implementation_defined.size(), 1);
  EXPECT_EQ(result.contract.implementation_defined[0].text(),
            "nodes[5].y_scale: expected a finite nonzero scale, got 0 [rule C21]");
}

TEST(Lowering, RefusesWhatTheTextForbids) {
  const auto ints = [](std::vector<std::int64_t> values) { return Attribute::Value(std::move(values)); };
  const std::pair<Case, std::string> table[] = {
      {node_on("Transpose", 13, {floats({2, 3})}, {{"perm", ints({0, 0})}}), "perm"},
      {node_on("Reshape", 13, {floats({2, 3}), list({4, -1})}), "shape"},
      {node_on("Reshape", 13, {floats({2, 3}), list({-1, -1})}), "shape"},
      {node_on("Reshape", 14, {floats({2, 3}), list({0, -1})}, {{"allowzero", std::int64_t{1}}}), "shape"},
      {node_on("Slice", 13, {floats({2}), list({0}), list({1}), list({0}), list({0})}), "steps"},
      {node_on("Slice", 13, {floats({2}), list({0}), list({1}), list({1})}), "axes"},
      {node_on("Squeeze", 13, {floats({2}), list({0})}), "axes"},
      {node_on("Unsqueeze", 13, {floats({2}), list({0, 0})}), "axes"},
      {node_on("Expand", 13, {floats({2}), list({3})}), "shape"},
      {node_on("Gather", 13, {floats({2}), list({2})}), "indices"},
      {node_on("Concat", 13, {floats({2, 2}), floats({3, 2})}, {{"axis", std::int64_t{1}}}), "inputs[1]"},
      {node_on("Split", 13, {floats({3}), list({2, 2})}), "split"},
      {node_on("Pad", 13, {floats({2}), list({-3, 0})}), "pads"},
      {node_on("MatMul", 13, {floats({2, 3}), floats({2, 3})}), "B"},
      {node_on("Gemm", 13, {floats({2, 3}), floats({3, 2}), floats({3})}), "C"},
      {node_on("Add", 13, {floats({2}), floats({3})}), "inputs[1]"},
      {node_on("MaxPool", 13, {floats({1, 1, 2})}, {{"kernel_shape", ints({0})}}), "kernel_shape"},
      {node_on("MaxPool", 13, {floats({1, 1, 2})}, {{"kernel_shape", ints({3})}}), "w"},
      {node_on("ConvTranspose", 13, {floats({1, 2, 3}), floats({1, 2, 3})}), "W"},
      {node_on("Softmax", 13, {floats({2})}, {{"axis", std::int64_t{1}}}), "axis"},
      {node_on("DepthToSpace", 13, {floats({1, 3, 2, 2})}, {{"blocksize", std::int64_t{2}}}), "blocksize"},
      {node_on("Resize", 10, {floats({2}), make::float32({1}, {-1})}), "scales"},
      {node_on("Where", 16, {floats({2}), floats({2}), floats({2})}), "condition"},
      {node_on("Cast", 13, {floats({2})}, {{"to", std::int64_t{17}}}), "to"},
  };
  for (const auto& [test_case, field] : table) {
    const auto result = lower(test_case);
    EXPECT_EQ(result.fault().substr(0, 10 + field.size()), "nodes[0]." + field + ":") << test_case.nodes[0].op_type;
    EXPECT_EQ(result.fault().find("rule limit"), std::string::npos) << result.fault();
  }
}

TEST(Lowering, AllocatesNothingThatAFileMerelyAsksFor) {
  const std::int64_t many = std::int64_t{1} << 40;
  for (const Case& test_case :
       {node_on("Expand", 13, {floats({1}), list({many})}), node_on("Expand", 13, {floats({1}), list({0, many, many})}),
        node_on("Pad", 13, {floats({1}), list({many, many})}), node_on("Pad", 13, {floats({1}), list({1 << 30, 0})}),
        node_on("Resize", 13, {floats({1}), floats({0}), floats({0}), list({many})}),
        node_on("Resize", 13, {floats({1}), floats({0}), make::float32({1}, {1e9F})}),
        node_on("ConvTranspose", 13, {floats({1, 1, 2}), floats({1, 1, 2})},
                {{"strides", std::vector<std::int64_t>{std::int64_t{1} << 30}}}),
        node_on("Reshape", 14, {floats({0}), list({0, many, many, many})}, {{"allowzero", std::int64_t{1}}})}) {
    EXPECT_NE(lower(test_case).fault().find("rule limit"), std::string::npos) << lower(test_case).fault();
  }
}

TEST(Lowering, LeavesAsideWhatIsComputedOrOpen) {
  const auto ints = [](std::vector<std::int64_t> values) { return Attribute::Value(std::move(values)); };
  Case computed = node_on("Reshape", 13, {floats({2, 3}), list({6})});
  computed.nodes.insert(computed.nodes.begin(), {"Concat", "", 13, {{"axis", std::int64_t{0}}}, {"i1"}, {"shape"}});
  computed.nodes[1].inputs[1] = "shape";
  EXPECT_EQ(lower(computed).fault(),
            "nodes[1].shape: 'shape' is computed: computed shapes are not judged [rule limit]");
  computed.nodes[0] = {"Identity", "", 13, {}, {"i1"}, {"shape"}};
  EXPECT_EQ(lower(computed).fault(), "");
  computed.nodes[0] = {"Constant", "", 13, {{"value_ints", ints({3, 2})}}, {}, {"shape"}};
  EXPECT_EQ(lower(computed).fault(), "");
  for (const Case& test_case :
       {node_on("MaxPool", 13, {floats({1, 1, 3})}, {{"kernel_shape", ints({1})}, {"pads", ints({1, 1})}}),
        node_on("MaxPool", 13, {floats({1, 1, 2})},
                {{"kernel_shape", ints({1})},
                 {"pads", ints({0, 1})},
                 {"strides", ints({2})},
                 {"ceil_mode", std::int64_t{1}}}),
        node_on("ReduceMax", 13, {floats({0})}), node_on("Add", 13, {list({1}), list({2})}),
        node_on("Clip", 12, {floats({1}), make::float32(2.0F), make::float32(1.0F)}),
        node_on(
            "Resize", 13, {floats({5}), floats({0}), make::float32({1}, {1.7F})},
            {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}}),
        node_on("Abs", 13, {make::int8({1}, {-128})}),
        node_on("Slice", 13, {list({INT64_MAX}), list({0}), list({1})})}) {
    EXPECT_NE(lower(test_case).fault().find("rule limit"), std::string::npos)
        << test_case.nodes[0].op_type << ": " << lower(test_case).fault();
  }
}

TEST(Lowering, SkipsOutputsThatNobodyNames) {
  Case test_case = node_on("Split", 13, {floats({4})});
  test_case.nodes[0].outputs = {"", "o"};
  const auto result = lower(test_case);
  ASSERT_TRUE(result.graph) << result.fault();
  ASSERT_EQ(result.graph->program.steps.size(), 2);
  EXPECT_EQ(std::get<Move>(result.graph->program.steps[0].what).index, (std::vector<std::int64_t>{2, 3}));
}

TEST(Lowering, InterpolatesWithStatedWeights) {
  const auto result = lower(
      node_on("Resize", 13, {floats({2}), floats({0}), make::float32({1}, {2.0F})}, {{"mode", std::string("linear")}}));
  ASSERT_TRUE(result.graph) << result.fault();
  const Program& program = result.graph->program;
  const auto& sum = std::get<WeightedSum>(program.steps[0].what);
  EXPECT_TRUE(sum.has_factor);
  EXPECT_EQ(std::get<ListedTaps>(sum.taps).begin, (std::vector<std::int64_t>{0, 1, 3, 5, 6}));
  EXPECT_EQ(program.values[program.steps[0].operands[1]].stated, (std::vector<double>{1, 0.75, 0.25, 0.25, 0.75, 1}));
}

}  // namespace
}  // namespace qconform::lowering

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

namespace graph = reference::graph;

// Writes a case's nodes down one after the other.
class Writer {
 public:
  explicit Writer(const Case& whole) : builder(whole.nodes.front().opset_version), whole_(whole) {
    for (std::size_t i = 0; i < whole.inputs.size(); ++i) {
      const Tensor& tensor = *whole.inputs[i];
      names_[whole.input_names[i]] = i < whole.fed_inputs ? builder.input(tensor) : builder.initializer(tensor);
    }
  }

  std::vector<std::string> add(std::size_t index) {
    const Node& node = whole_.nodes[index];
    std::vector<std::string> inputs;
    for (const std::string& name : node.inputs) inputs.push_back(name.empty() ? name : names_.at(name));
    auto outputs = builder.nodes(node.op_type, inputs, node.outputs.size(), node.attributes, node.domain);
    for (std::size_t i = 0; i < outputs.size(); ++i) names_[node.outputs[i]] = outputs[i];
    return outputs;
  }

  GraphBuilder builder;

 private:
  const Case& whole_;
  std::map<std::string, std::string> names_;
};

// Expects the shape and bounds that the graph has when it is lowered as a whole.
void expect_the_same(GrowingGraph& growing, const GraphBuilder& builder, const std::string& name) {
  const Case so_far = builder.build({name});
  reference::Contract contract;
  const auto lowered = lower_graph(so_far, contract);
  ASSERT_EQ(growing.follow(builder), lowered && contract.implementation_defined.empty());
  if (!lowered || !contract.implementation_defined.empty()) return;
  const graph::ValueId id = lowered->program.outputs.front();
  EXPECT_EQ(growing.shape_of(name), lowered->program.values[id].shape);
  for (const auto tier : {reference::Tier::exact, reference::Tier::any_association}) {
    const auto bounds = growing.bounds_of(name, tier);
    const graph::Bounds all = graph::bounds_of(lowered->program, tier)[id];
    ASSERT_TRUE(bounds);
    EXPECT_EQ(bounds->lo, all.lo);
    EXPECT_EQ(bounds->hi, all.hi);
    EXPECT_EQ(bounds->members, all.members);
  }
}

TEST(GrowingGraph, SaysWhatLoweringTheWholeSays) {
  for (int i = 0; i < testing::scaled(100); ++i) {
    const Case whole = graph_case(23, static_cast<std::uint64_t>(i));
    if (!is_judged_as_graph(whole)) continue;
    SCOPED_TRACE(whole.id);
    Writer writer(whole);
    GrowingGraph growing;
    for (std::size_t node = 0; node < whole.nodes.size(); ++node) {
      const std::string name = writer.add(node).front();
      expect_the_same(growing, writer.builder, name);
      // Nodes that are taken back leave nothing behind: a scale that makes values round, and a node out of contract.
      const std::size_t nodes = writer.builder.node_count();
      const std::size_t initializers = writer.builder.initializer_count();
      const std::string other = writer.builder.initializer(make::float32(0.3F));
      const std::string more = writer.builder.node("Mul", {other, other});
      expect_the_same(growing, writer.builder, more);
      if (node % 2 == 0) (void)writer.builder.node("Conv", {other});
      EXPECT_EQ(growing.follow(writer.builder), node % 2 != 0);
      writer.builder.keep(nodes, initializers);
      expect_the_same(growing, writer.builder, name);
    }
  }
}

}  // namespace
}  // namespace qconform
