#include "harness/source/onnx_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

#include "harness/core/file.h"
#include "harness/onnx/tensor_proto.h"
#include "harness/operators/operator.h"
#include "harness/tests/temporary_folder.h"

namespace qconform {
namespace {

using ::qconform::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// A small quantized image network, made the way quantizers make them: activations uint8, weights
/// int8 per channel, no value_info.
class Network {
 public:
  Network() {
    model_.set_ir_version(8);
    add_opset("", 13);
    add_opset("com.microsoft", 1);
    graph().set_name("network");
  }

  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  onnx::ModelProto& model() { return model_; }

  void add_opset(const std::string& domain, std::int64_t version) {
    onnx::OperatorSetIdProto& opset = *model_.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }

  /// Dimensions below 0 are symbolic.
  void input(const std::string& name, ElementType type, const std::vector<std::int64_t>& shape) {
    onnx::ValueInfoProto& info = *graph().add_input();
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<std::int32_t>(type));
    for (const std::int64_t size : shape) {
      auto& dimension = *info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
      if (size < 0) {
        dimension.set_dim_param("N");
      } else {
        dimension.set_dim_value(size);
      }
    }
  }

  std::string constant(const std::string& name, const Tensor& tensor) {
    write_tensor(tensor, name, *graph().add_initializer());
    return name;
  }
  std::string scale(const std::string& name) {
    return constant(name, Tensor::scalar<float>(ElementType::float32, 0.5F));
  }
  std::string zero_point(const std::string& name) {
    return constant(name, Tensor::scalar<std::uint8_t>(ElementType::uint8, 128));
  }

  onnx::NodeProto& node(const std::string& op_type, const std::vector<std::string>& inputs, const std::string& output,
                        const std::string& domain = "") {
    onnx::NodeProto& result = *graph().add_node();
    result.set_op_type(op_type);
    result.set_domain(domain);
    result.set_name(output + "_node");
    for (const std::string& input : inputs) result.add_input(input);
    result.add_output(output);
    return result;
  }

  onnx::NodeProto& convolution(const std::string& x, const std::string& y, std::vector<std::int64_t> w_shape,
                               std::int64_t group, std::int64_t stride) {
    const std::int64_t outputs = w_shape[0];
    const auto kernel = std::vector<std::int64_t>(w_shape.begin() + 2, w_shape.end());
    const auto count = static_cast<std::size_t>(elements_of(w_shape));
    const std::vector<std::int8_t> weights(count, 3);
    const std::vector<float> scales(static_cast<std::size_t>(outputs), 0.25F);
    const std::vector<std::int8_t> zeros(scales.size(), 0);
    const std::vector<std::int32_t> bias(scales.size(), 7);
    onnx::NodeProto& result =
        node("QLinearConv",
             {x, scale(y + "_xs"), zero_point(y + "_xz"),
              constant(y + "_w", Tensor::of<std::int8_t>(ElementType::int8, std::move(w_shape), weights)),
              constant(y + "_ws", Tensor::of<float>(ElementType::float32, {outputs}, scales)),
              constant(y + "_wz", Tensor::of<std::int8_t>(ElementType::int8, {outputs}, zeros)), scale(y + "_ys"),
              zero_point(y + "_yz"), constant(y + "_b", Tensor::of<std::int32_t>(ElementType::int32, {outputs}, bias))},
             y);
    const std::int64_t pad = kernel[0] / 2;
    ints(result, "strides", {stride, stride});
    ints(result, "pads", {pad, pad, pad, pad});
    integer(result, "group", group);
    return result;
  }

  static void ints(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
  }
  static void integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }

 private:
  onnx::ModelProto model_;
};

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

class OnnxModel : public ::testing::Test {
 protected:
  std::unique_ptr<OnnxModelSource> open(Network& net, std::uint64_t seed = 1) {
    const auto file = folder_.path() / "net.onnx";
    EXPECT_TRUE(write_file(file, net.model().SerializeAsString()).has_value());
    auto source = OnnxModelSource::open(file, seed);
    EXPECT_TRUE(source.has_value()) << source.error().text();
    return std::move(*source);
  }

  static std::vector<Case> cases_of(OnnxModelSource& source) {
    std::vector<Case> cases;
    while (true) {
      auto next = source.next();
      if (!next) ADD_FAILURE() << next.error().text();
      if (!next || !*next) return cases;
      cases.push_back(std::move(**next));
    }
  }

  /// The only case of a network.
  Case only_case(Network& net) {
    auto source = open(net);
    const std::vector<Case> cases = cases_of(*source);
    EXPECT_EQ(cases.size(), 1U);
    return cases.empty() ? Case{} : cases.front();
  }

  TemporaryFolder folder_;
};

TEST_F(OnnxModel, EveryQuantizedNodeIsACaseWithItsRealShape) {
  Network net = image_network();
  const auto source = open(net);
  EXPECT_EQ(source->size(), 6U);
  const std::vector<Case> cases = cases_of(*source);
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const Case& one : cases) {
    shapes[one.id] = one.inputs[0]->shape;
    EXPECT_EQ(one.note, "") << one.id;
    EXPECT_EQ(one.opset_version, 13);
    EXPECT_EQ(classify(one).expectation(), Expectation::valid) << one.id;
  }
  EXPECT_THAT(
      shapes,
      ElementsAre(Pair("classes_node#6", ElementsAre(1, 8, 1, 1)), Pair("depthwise_node#2", ElementsAre(1, 8, 16, 16)),
                  Pair("pointwise_node#3", ElementsAre(1, 8, 16, 16)), Pair("q_node#0", ElementsAre(1, 3, 32, 32)),
                  Pair("scores_node#8", ElementsAre(1, 10, 1, 1)), Pair("stem_node#1", ElementsAre(1, 3, 32, 32))));
  EXPECT_THAT(source->skipped(),
              ElementsAre(Pair("not quantized: Relu", 1), Pair("not quantized: com.microsoft::QLinearAdd", 1),
                          Pair("not quantized: com.microsoft::QLinearGlobalAveragePool", 1)));
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
    EXPECT_EQ(first[i].inputs[1], other[i].inputs[1]);
  }
  EXPECT_EQ(digest_of(first[2]), 16090492460063359980U);  // the same on every machine
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
  const Case one = only_case(net);
  EXPECT_EQ(one.inputs[0]->shape, (std::vector<std::int64_t>{1, 2, 5, 5}));
  EXPECT_EQ(one.inputs[2]->type, ElementType::uint8);
  EXPECT_TRUE(one.inputs[2]->is_scalar());
  EXPECT_EQ(one.note, "x_zero_point is computed at run time: drawn");
}

TEST_F(OnnxModel, BodiesOfOtherNodesAreWalked) {
  Network net;
  net.input("condition", ElementType::boolean, {});
  net.input("x", ElementType::uint8, {1, 1, 6, 6});
  Network body;
  body.convolution("x", "inside", {2, 1, 3, 3}, 1, 1);
  body.graph().add_output()->set_name("inside");
  onnx::NodeProto& choice = net.node("If", {"condition"}, "y");
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& attribute = *choice.add_attribute();
    attribute.set_name(branch);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = body.graph();
  }
  const auto source = open(net);
  const std::vector<Case> cases = cases_of(*source);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].inputs[0]->shape, (std::vector<std::int64_t>{1, 1, 6, 6}));
  EXPECT_EQ(cases[0].id, "inside_node#1");
  EXPECT_EQ(cases[1].id, "inside_node#2");
  EXPECT_THAT(source->skipped(), ElementsAre(Pair("not quantized: If", 1)));
}

TEST_F(OnnxModel, WeightsOfUnknownShapeAreSkippedWithAReason) {
  Network net;
  net.input("x", ElementType::uint8, {1, 1, 6, 6});
  net.node("Mystery", {"x"}, "w", "com.example");
  net.node("ConvInteger", {"x", "w"}, "y");
  const auto source = open(net);
  EXPECT_THAT(cases_of(*source), IsEmpty());
  EXPECT_THAT(source->skipped(), ElementsAre(Pair("ConvInteger: weights of unknown or unusable shape", 1),
                                             Pair("not quantized: com.example::Mystery", 1)));
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

TEST_F(OnnxModel, HugeActivationsAreNotDrawn) {
  Network net;
  net.input("x", ElementType::uint8, {1, 1, 1 << 14, 1 << 14});
  net.convolution("x", "y", {1, 1, 1, 1}, 1, 1);
  const auto source = open(net);
  EXPECT_THAT(cases_of(*source), IsEmpty());
  EXPECT_THAT(source->skipped(),
              ElementsAre(Pair("QLinearConv: input x exceeds the limit of 67108864 elements to draw", 1)));
}

TEST_F(OnnxModel, InferenceThatCrashesLeavesOurOwnRules) {
  Network net = image_network();
  onnx::NodeProto& bad = net.node("MaxPool", {"sum"}, "crash");
  Network::ints(bad, "kernel_shape", {2, 2});
  Network::ints(bad, "strides", {0, 0});
  EXPECT_EQ(cases_of(*open(net)).size(), 6U);
}

}  // namespace
}  // namespace qconform
