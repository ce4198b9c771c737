#include "harness/suites/onnx_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/engine/run_suites.h"
#include "harness/model/operator.h"
#include "harness/onnx/protobuf.h"
#include "harness/suites/stored_cases.h"
#include "harness/tests/network.h"

namespace qconform {
namespace {

using ::qconform::testing::Network;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// Quantize, stem, depthwise, pointwise, residual addition, average pool, classifier, dequantize.
Network image_network() {
  Network net;
  net.input("image", ElementType::float32, {-1, 3, 32, 32});
  net.node("QuantizeLinear", {"image", net.scale("is"), net.zero_point("iz")}, "q");
  net.convolution("q", "stem", {8, 3, 3, 3}, 1, 2);
  net.convolution("stem", "depthwise", {8, 1, 3, 3}, 8, 1);
  net.convolution("depthwise", "pointwise", {8, 8, 1, 1}, 1, 1);
  net.node("QLinearAdd",
           {"stem", "stem_ys", "stem_yz", "pointwise", "pointwise_ys", "pointwise_yz", net.scale("as"),
            net.zero_point("az")},
           "sum", "com.microsoft");
  net.node("QLinearGlobalAveragePool", {"sum", "as", "az", net.scale("ps"), net.zero_point("pz")}, "pooled",
           "com.microsoft");
  net.convolution("pooled", "classes", {10, 8, 1, 1}, 1, 1);
  net.node("Relu", {"classes"}, "rectified");
  net.node("DequantizeLinear", {"rectified", "classes_ys", "classes_yz"}, "scores");
  net.graph().add_output()->set_name("scores");
  net.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  return net;
}

using OnnxModel = testing::ModelFixture;

TEST_F(OnnxModel, EveryQuantizedNodeIsACaseWithItsRealShape) {
  Network net = image_network();
  const auto source = open(net);
  EXPECT_EQ(source->size(), 9U);
  const std::vector<Case> cases = cases_of(*source);
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const Case& one : cases) {
    shapes[one.id] = one.inputs[0]->shape;
    EXPECT_EQ(one.note, "") << one.id;
    EXPECT_EQ(one.node().opset_version, one.node().domain.empty() ? 13 : 1);
    EXPECT_EQ(classify(one).expectation(), Expectation::valid) << one.id;
  }
  EXPECT_THAT(
      shapes,
      ElementsAre(Pair("classes_node#6", ElementsAre(1, 8, 1, 1)), Pair("depthwise_node#2", ElementsAre(1, 8, 16, 16)),
                  Pair("pointwise_node#3", ElementsAre(1, 8, 16, 16)),
                  Pair("pooled_node.unit#5", ElementsAre(1, 8, 16, 16)), Pair("q_node#0", ElementsAre(1, 3, 32, 32)),
                  Pair("scores_node#8", ElementsAre(1, 10, 1, 1)), Pair("stem_node#1", ElementsAre(1, 3, 32, 32)),
                  Pair("sum_node.unit#4", ElementsAre(1, 8, 16, 16))));
  const auto coverage = source->node_coverage(nullptr);
  EXPECT_EQ(coverage->covered, 8U);
  EXPECT_EQ(coverage->others, 0U) << "Relu takes uint8";
  EXPECT_THAT(in_no_case(*source), ElementsAre(AllOf(HasSubstr("1 Relu: type: "), HasSubstr("got uint8"))));
}

TEST_F(OnnxModel, NodesThatARunDidNotReachAreListedWithThat) {
  Network net = image_network();
  const auto source = open(net);
  ASSERT_TRUE(source->next().has_value());
  ASSERT_TRUE(source->next().has_value());
  EXPECT_EQ(source->node_coverage(nullptr)->covered, 2U);
  // The first case has a reason; the second was not judged any more.
  const std::vector<std::string> why_not{"declined: too large"};
  const auto judged = source->node_coverage(&why_not);
  EXPECT_EQ(judged->covered, 0U);
  EXPECT_EQ(judged->quantized(), source->node_coverage(nullptr)->quantized());
  std::map<std::string, std::uint64_t> by_reason;
  for (const UncoveredNodes& part : judged->uncovered) by_reason[part.reason] += part.nodes;
  EXPECT_EQ(by_reason["declined: too large"], 1U);
  EXPECT_EQ(by_reason["not reached: the run ended before its case"], 8U);
}

// A right kernel and a wrong one get the verdicts that they get at opset 25, at opsets that changed no operator and at
// those that are yet to come.
TEST_F(OnnxModel, NewerOpsetsGetTheSameVerdicts) {
  using Verdicts = std::map<std::string, VerdictCounts>;
  const auto verdicts_at = [&](std::int64_t opset) {
    Network net = image_network();
    net.model().mutable_opset_import(0)->set_version(opset);
    std::vector<std::unique_ptr<Suite>> suites;
    suites.push_back(open(net));
    auto backends =
        backend::select_all({"scalar", "defect:pad-raw-zero+dq-expanded"}, RoundingProfile::correctly_rounded, {});
    EXPECT_TRUE(backends.has_value()) << backends.error().text();
    Report report;
    EXPECT_TRUE(run_suites(suites, *backends, {}, report).has_value());
    EXPECT_EQ(report.suites.front().cases, 8U) << opset;
    EXPECT_EQ(report.suites.front().expectations, (Counts{{"valid", 8}})) << opset;
    EXPECT_TRUE(report.backends[0].conforms()) << opset;
    EXPECT_EQ(report.backends[0].count(VerdictKind::pass) + report.backends[0].count(VerdictKind::vacuous), 6U);
    EXPECT_GT(report.backends[1].count(VerdictKind::wrong), 0U) << opset;
    Verdicts verdicts;
    for (const BackendResult& backend : report.backends) {
      for (const auto& [name, result] : backend.operators) verdicts[backend.info.name + name] = result.verdicts;
    }
    return verdicts;
  };
  const Verdicts known = verdicts_at(25);
  for (const std::int64_t opset : {27, 28, 40}) EXPECT_EQ(verdicts_at(opset), known) << opset;
}

TEST_F(OnnxModel, OpsetsNewerThanAnyKnownAreSaidOnce) {
  NewerOpsets newer;
  for (const std::int64_t opset : {std::int64_t{27}, kNewestOpset, std::int64_t{40}}) {
    EXPECT_EQ(newer.text(), "") << opset;
    Network net = image_network();
    net.model().mutable_opset_import(0)->set_version(opset);
    const auto source = counted(open(net), newer);
    EXPECT_EQ(source->size(), 9U);
    for (auto next = source->next(); next && *next; next = source->next()) {
      EXPECT_EQ((*next)->node().opset_version, (*next)->node().domain.empty() ? opset : 1);
    }
    EXPECT_EQ(source->node_coverage(nullptr)->covered, 8U);
  }
  EXPECT_EQ(newer.text(),
            "6 cases have opset 40, newer than 28, the newest known: judged by DequantizeLinear 25, QLinearConv 10, "
            "QuantizeLinear 25");
}

TEST_F(OnnxModel, WeightsAndParametersAreTheModels) {
  Network net = image_network();
  const std::vector<Case> cases = cases_of(*open(net));
  const Case& stem = cases[1];
  ASSERT_EQ(stem.inputs.size(), 9U);
  EXPECT_EQ(stem.inputs[0]->type, ElementType::uint8);
  EXPECT_EQ(*stem.inputs[3],
            Tensor::of<std::int8_t>(ElementType::int8, {8, 3, 3, 3}, std::vector<std::int8_t>(216, 3)));
  EXPECT_EQ(*stem.inputs[8], Tensor::of<std::int32_t>(ElementType::int32, {8}, std::vector<std::int32_t>(8, 7)));
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(stem.attribute("strides")->value), (std::vector<std::int64_t>{2, 2}));
}

TEST_F(OnnxModel, TheSeedDecidesTheActivationsAlone) {
  Network net = image_network();
  const std::vector<Case> first = cases_of(*open(net, 1));
  const std::vector<Case> again = cases_of(*open(net, 1));
  const std::vector<Case> other = cases_of(*open(net, 2));
  ASSERT_EQ(first.size(), other.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i], again[i]);
    EXPECT_NE(digest_of(first[i]), digest_of(other[i]));
    if (is_judged_as_graph(first[i])) continue;  // a further operand is drawn too
    EXPECT_EQ(first[i].inputs[1], other[i].inputs[1]);
  }
  EXPECT_EQ(digest_of(first[2]), 16090492460063359980U);  // equal on every machine
}

TEST_F(OnnxModel, UnknownSpatialSizesAreAssumedAndSaid) {
  Network net;
  net.input("x", ElementType::uint8, {-1, 3, -1, -1});
  net.convolution("x", "y", {4, 3, 3, 3}, 1, 1);
  const Case one = only_case(net);
  EXPECT_EQ(one.inputs[0]->shape, (std::vector<std::int64_t>{1, 3, 14, 14}));
  EXPECT_EQ(one.note, "spatial size of x assumed, the model does not tell it");
}

TEST_F(OnnxModel, ConstantNodesAreConstants) {
  Network net;
  net.input("x", ElementType::uint8, {1, 1, 4, 4});
  onnx::NodeProto& constant = net.node("Constant", {}, "w");
  onnx::AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  write_tensor(Tensor::of<std::int8_t>(ElementType::int8, {1, 1, 1, 1}, std::vector<std::int8_t>{5}), "w",
               *value.mutable_t());
  net.node("ConvInteger", {"x", "w"}, "y");
  const Case one = only_case(net);
  EXPECT_EQ(one.inputs[1]->values<std::int8_t>(), std::vector<std::int8_t>{5});
  EXPECT_EQ(one.note, "");
}

TEST_F(OnnxModel, ParametersComputedAtRunTimeAreDrawnAndSaid) {
  Network net;
  net.input("image", ElementType::float32, {1, 2, 5, 5});
  onnx::NodeProto& quantize = net.node("DynamicQuantizeLinear", {"image"}, "x");
  quantize.add_output("x_scale");
  quantize.add_output("x_zero");
  net.constant("w", Tensor::of<std::int8_t>(ElementType::int8, {3, 2, 3, 3}, std::vector<std::int8_t>(54, 2)));
  net.node("ConvInteger", {"x", "w", "x_zero"}, "y");
  const std::vector<Case> cases = cases_of(*open(net));
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[1].op_types(), "DynamicQuantizeLinear+ConvInteger") << "together the model computes it";
  const Case& one = cases[0];
  EXPECT_EQ(one.inputs[0]->shape, (std::vector<std::int64_t>{1, 2, 5, 5}));
  EXPECT_EQ(one.inputs[2]->type, ElementType::uint8);
  EXPECT_TRUE(one.inputs[2]->is_scalar());
  EXPECT_EQ(one.note, "x_zero_point is computed at run time: drawn");
}

// Adds an If whose branches are both `body`.
void choose(Network& net, Network& body) {
  onnx::NodeProto& choice = net.node("If", {"condition"}, "y");
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& attribute = *choice.add_attribute();
    attribute.set_name(branch);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = body.graph();
  }
}

TEST_F(OnnxModel, BodiesOfOtherNodesAreWalked) {
  Network net;
  net.input("condition", ElementType::boolean, {});
  net.input("x", ElementType::uint8, {1, 1, 6, 6});
  Network body;
  body.convolution("x", "inside", {2, 1, 3, 3}, 1, 1);
  body.graph().add_output()->set_name("inside");
  choose(net, body);
  const auto source = open(net);
  const std::vector<Case> cases = cases_of(*source);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].inputs[0]->shape, (std::vector<std::int64_t>{1, 1, 6, 6}));
  EXPECT_EQ(cases[0].id, "inside_node#1");
  EXPECT_EQ(cases[1].id, "inside_node#2");
  EXPECT_THAT(in_no_case(*source), ElementsAre("1 If: operator: qconform does not test it"));
}

TEST_F(OnnxModel, WeightsOfUnknownShapeAreSkippedWithAReason) {
  Network net;
  net.input("x", ElementType::uint8, {1, 1, 6, 6});
  net.node("Mystery", {"x"}, "w", "com.example");
  net.node("ConvInteger", {"x", "w"}, "y");
  const auto source = open(net);
  EXPECT_THAT(cases_of(*source), IsEmpty());
  EXPECT_THAT(in_no_case(*source), ElementsAre("1 ConvInteger: size: weights of unknown or unusable shape",
                                               "1 com.example::Mystery: operator: qconform does not test it"));
}

TEST_F(OnnxModel, DamagedWeightsEndTheSourceAndNameTheNode) {
  Network net = image_network();
  for (onnx::TensorProto& tensor : *net.graph().mutable_initializer()) {
    if (tensor.name() == "stem_w") tensor.set_raw_data("short");
  }
  const auto source = open(net);
  ASSERT_TRUE(source->next().has_value());
  const auto next = source->next();
  ASSERT_FALSE(next.has_value());
  EXPECT_THAT(next.error().text(), HasSubstr("node stem_node: tensor 'stem_w': bytes in raw_data: expected 216"));
  EXPECT_FALSE(source->next()->has_value());
}

TEST_F(OnnxModel, MovedAndConvertedConstantsAreTheModels) {
  Network net;
  net.input("x", ElementType::uint8, {1, 2, 4, 4});
  const auto scales = [&](const std::string& name, std::vector<float> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return net.constant(name, Tensor::of<float>(ElementType::float32, {1, count}, values));
  };
  net.node("Identity", {net.scale("s")}, "xs");
  Network::integer(net.node("Cast", {net.constant("z", Tensor::scalar<std::int64_t>(ElementType::int64, 7))}, "xz"),
                   "to", static_cast<std::int64_t>(ElementType::uint8));
  const std::vector<std::int8_t> weights{1, 2, 3, 4};
  net.node("Transpose", {net.constant("w0", Tensor::of<std::int8_t>(ElementType::int8, {2, 2}, weights))}, "w1");
  net.constant("axes", Tensor::of<std::int64_t>(ElementType::int64, {2}, std::vector<std::int64_t>{2, 3}));
  net.node("Unsqueeze", {"w1", "axes"}, "w");
  net.constant("first", Tensor::of<std::int64_t>(ElementType::int64, {1}, std::vector<std::int64_t>{0}));
  net.node("Squeeze", {scales("ws0", {0.5F, 0.25F}), "first"}, "ws");
  net.node("Shape", {"ws"}, "channels");
  onnx::AttributeProto& value = *net.node("ConstantOfShape", {"channels"}, "wz").add_attribute();
  value.set_name("value");
  write_tensor(Tensor::of<std::int8_t>(ElementType::int8, {1}, std::vector<std::int8_t>{0}), "", *value.mutable_t());
  net.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "xs", "xz"}, "y");
  const auto source = open(net);
  const std::vector<Case> cases = cases_of(*source);
  ASSERT_EQ(cases.size(), 1U);
  const Case& one = cases.front();
  EXPECT_THAT(in_no_case(*source),
              ::testing::Each(HasSubstr("constant: it computes a constant, which cases hold instead")));
  EXPECT_EQ(one.note, "");
  EXPECT_EQ(classify(one).expectation(), Expectation::valid);
  EXPECT_EQ(one.inputs[2], Tensor::scalar<std::uint8_t>(ElementType::uint8, 7));
  EXPECT_EQ(one.inputs[3]->values<std::int8_t>(), (std::vector<std::int8_t>{1, 3, 2, 4}));
  EXPECT_EQ(one.inputs[4], Tensor::of<float>(ElementType::float32, {2}, std::vector<float>{0.5F, 0.25F}));
  EXPECT_EQ(one.inputs[5]->shape, std::vector<std::int64_t>{2});
}

TEST_F(OnnxModel, QuantizationOfConstantsIsACase) {
  Network net;
  net.constant("w", Tensor::of<float>(ElementType::float32, {2}, std::vector<float>{1.0F, -1.0F}));
  net.node("Identity", {"w"}, "same");
  net.node("QuantizeLinear", {"same", net.scale("s"), net.zero_point("z")}, "q");
  net.node("DequantizeLinear", {"q", "s", "z"}, "y");
  const std::vector<Case> cases = cases_of(*open(net));
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].inputs[0]->values<float>(), (std::vector<float>{1.0F, -1.0F}));
  EXPECT_EQ(cases[1].inputs[0]->shape, std::vector<std::int64_t>{2});
}

TEST_F(OnnxModel, AModelWithoutABatchIsLongEnoughForItsWindows) {
  Network net;
  net.input("audio", ElementType::float32, {-1, 20});
  net.constant("axes", Tensor::of<std::int64_t>(ElementType::int64, {2}, std::vector<std::int64_t>{0, 1}));
  net.node("QuantizeLinear", {"audio", net.scale("s"), net.zero_point("z")}, "q");
  net.node("Unsqueeze", {"q", "axes"}, "x");
  const std::vector<std::int8_t> weights(50, 3);
  net.constant("w", Tensor::of<std::int8_t>(ElementType::int8, {2, 1, 5, 5}, weights));
  net.node("ConvInteger", {"x", "w", "z"}, "y");
  const std::vector<Case> cases = cases_of(*open(net));
  ASSERT_EQ(cases.size(), 3U) << "Unsqueeze moves bytes";
  EXPECT_EQ(cases[0].inputs[0]->shape, (std::vector<std::int64_t>{16, 20}));
  EXPECT_EQ(cases[1].inputs[0]->shape, (std::vector<std::int64_t>{1, 1, 16, 20}));
  EXPECT_EQ(classify(cases[1]).expectation(), Expectation::valid);
  EXPECT_EQ(cases[1].note, "first dimension of the model's inputs assumed: 16");
}

TEST_F(OnnxModel, WindowsThatNoBatchCanFitLeaveABatchOfOne) {
  Network net;
  net.input("x", ElementType::uint8, {-1, 1, 3, 3});
  net.constant("w", Tensor::of<std::int8_t>(ElementType::int8, {1, 1, 5, 5}, std::vector<std::int8_t>(25, 3)));
  net.node("ConvInteger", {"x", "w"}, "y");
  const Case one = only_case(net);
  EXPECT_EQ(one.inputs[0]->shape, (std::vector<std::int64_t>{1, 1, 3, 3}));
  EXPECT_EQ(one.note, "");
}

TEST_F(OnnxModel, AModelWithoutQuantizedNodesSaysWhatItHas) {
  Network net;
  net.input("x", ElementType::float32, {1});
  for (const char* output : {"a", "b"}) net.node("Relu", {"x"}, output);
  net.node("QuickGelu", {"a"}, "c", "com.microsoft");
  EXPECT_THAT(error_of(net), HasSubstr("net.onnx: has no quantized node; it has 2 Relu, 1 com.microsoft::QuickGelu"));
  Network empty;
  empty.input("x", ElementType::float32, {1});
  EXPECT_THAT(error_of(empty), HasSubstr("has no quantized node; it has no nodes"));
}

TEST_F(OnnxModel, HugeActivationsAreNotDrawn) {
  Network net;
  net.input("x", ElementType::uint8, {1, 1, 1 << 14, 1 << 14});
  net.convolution("x", "y", {1, 1, 1, 1}, 1, 1);
  const auto source = open(net);
  EXPECT_THAT(cases_of(*source), IsEmpty());
  EXPECT_THAT(in_no_case(*source),
              ElementsAre("1 QLinearConv: size: input x exceeds the limit of 67108864 elements to draw"));
}

TEST_F(OnnxModel, InferenceThatCrashesLeavesOurOwnRules) {
  Network net = image_network();
  onnx::NodeProto& bad = net.node("MaxPool", {"sum"}, "crash");
  Network::ints(bad, "kernel_shape", {2, 2});
  Network::ints(bad, "strides", {0, 0});
  EXPECT_EQ(cases_of(*open(net)).size(), 8U);
}

// The forms of units: what a dynamic quantizer writes, with a bias, and what it begins with.
TEST_F(OnnxModel, DynamicUnitsGoToTheLastProductOrSum) {
  Network net;
  net.input("x", ElementType::float32, {2, 3});
  onnx::NodeProto& dynamic = net.node("DynamicQuantizeLinear", {"x"}, "q");
  dynamic.add_output("s");
  dynamic.add_output("z");
  net.constant("w", Tensor::of<std::int8_t>(ElementType::int8, {3, 4}, std::vector<std::int8_t>(12, 2)));
  net.node("MatMulInteger", {"q", "w", "z"}, "sum");
  Network::integer(net.node("Cast", {"sum"}, "real"), "to", 1);
  net.node("Mul", {"s", net.scale("ws")}, "scale");
  net.node("Mul", {"real", "scale"}, "product");
  net.constant("b", Tensor::of<float>(ElementType::float32, {4}, std::vector<float>(4, 0.5F)));
  net.node("Add", {"product", "b"}, "y");
  net.node("Add", {"y", "x2"}, "z2");
  net.input("x2", ElementType::float32, {2, 4});
  const Case one = only_case(net);
  EXPECT_EQ(one.op_types(), "DynamicQuantizeLinear+MatMulInteger+Cast+Mul+Mul+Add");
  EXPECT_THAT(one.outputs, ElementsAre("y")) << "the sum of two streams is no part of it";
  EXPECT_EQ(classify(one).expectation(), Expectation::valid);
}

TEST_F(OnnxModel, DequantizedOperandsOfFloatResultsAreUnits) {
  Network net;
  net.input("x", ElementType::float32, {2, 3});
  net.constant("w", Tensor::of<std::int8_t>(ElementType::int8, {3, 4}, std::vector<std::int8_t>(12, 2)));
  net.node("DequantizeLinear", {"w", net.scale("ws")}, "real");
  net.node("MatMul", {"x", "real"}, "y");
  net.graph().add_output()->set_name("y");
  const auto source = open(net);
  const std::vector<Case> cases = cases_of(*source);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[1].op_types(), "DequantizeLinear+MatMul");
}

// Some exporters write a DequantizeLinear of weights as the arithmetic that it is.
TEST_F(OnnxModel, CastsAndArithmeticOfConstantsAreDequantizedOperands) {
  Network net;
  net.input("x", ElementType::float32, {2, 3});
  net.constant("w", Tensor::of<std::int8_t>(ElementType::int8, {3, 4}, std::vector<std::int8_t>(12, 2)));
  Network::integer(net.node("Cast", {"w"}, "real"), "to", 1);
  net.node("Sub", {"real", net.constant("wz", Tensor::scalar<float>(ElementType::float32, 5))}, "centred");
  net.node("Mul", {"centred", net.scale("ws")}, "weights");
  net.node("MatMul", {"x", "weights"}, "y");
  net.graph().add_output()->set_name("y");
  const Case one = only_case(net);
  EXPECT_EQ(one.op_types(), "Cast+Sub+Mul+MatMul");
  EXPECT_EQ(classify(one).expectation(), Expectation::valid);
}

TEST_F(OnnxModel, UnitsAreCutFromFunctions) {
  Network net;
  net.add_opset("own", 1);
  onnx::FunctionProto& function = *net.model().add_functions();
  function.set_domain("own");
  function.set_name("Dequantized");
  for (const char* input : {"a", "scale"}) function.add_input(input);
  function.add_output("b");
  function.add_opset_import()->set_version(13);
  onnx::NodeProto& node = *function.add_node();
  node.set_op_type("DequantizeLinear");
  for (const char* input : {"a", "scale"}) node.add_input(input);
  node.add_output("b");
  net.input("x", ElementType::uint8, {1, 4});
  net.node("Dequantized", {"x", net.scale("xs")}, "y", "own");
  net.graph().add_output()->set_name("y");
  EXPECT_EQ(only_case(net).op_types(), "DequantizeLinear");
}

TEST_F(OnnxModel, UnitsAreCutFromBodies) {
  Network net;
  net.input("condition", ElementType::boolean, {});
  net.input("x", ElementType::uint8, {1, 4});
  Network body;
  body.node("Flatten", {"x"}, "inside");
  body.graph().add_output()->set_name("inside");
  choose(net, body);
  const auto source = open(net);
  const std::vector<Case> cases = cases_of(*source);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].id, "inside_node.unit#1");
}

}  // namespace
}  // namespace qconform
