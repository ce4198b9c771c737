// Values that go into a model and come out of it, with a runtime that says what it is told to say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/base/file.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/onnx/node_inputs.h"
#include "harness/suites/model_nodes.h"
#include "harness/suites/onnx_model.h"
#include "harness/tests/network.h"
#include "harness/tests/temporary_folder.h"

namespace qconform {
namespace {

using ::qconform::testing::Network;
using ::qconform::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kRefusal = "no such operator";
bool refuses = false;
std::size_t bytes_taken = 0;

// Every output is a tensor of the shape [1, 2, 2, 2] with as many as its position for its elements.
Result<NamedTensors> run(const std::string& model, const std::filesystem::path&, const NamedTensors&,
                         const backend::Specification&) {
  if (refuses) return fail("test runtime", kRefusal);
  const std::vector<char> memory(bytes_taken);
  onnx::ModelProto proto;
  if (!proto.ParseFromString(model)) return fail("", "no model");
  NamedTensors values;
  for (const onnx::ValueInfoProto& output : proto.graph().output()) {
    const std::vector<std::uint8_t> codes(8, static_cast<std::uint8_t>(values.size()));
    values.emplace(output.name(), Tensor::of<std::uint8_t>(ElementType::uint8, {1, 2, 2, 2}, codes));
  }
  return values;
}

Network two_convolutions() {
  Network net;
  net.input("image", ElementType::float32, {-1, 2, 2, 2});
  net.node("QuantizeLinear", {"image", net.scale("is"), net.zero_point("iz")}, "a");
  net.convolution("a", "b", {2, 2, 1, 1}, 1, 1);
  net.node("Relu", {"b"}, "c");
  net.convolution("c", "d", {2, 2, 1, 1}, 1, 1);
  net.graph().add_output()->set_name("d");
  return net;
}

class ComputedActivations : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    offer_model_runtime([]() { return ModelRuntime{"test runtime 1", "", run}; });
  }
  void SetUp() override {
    refuses = false;
    bytes_taken = 0;
  }

  Result<std::unique_ptr<OnnxModelSuite>> open(Network& net, const ModelOptions& options) {
    const auto file = folder_.path() / "net.onnx";
    EXPECT_TRUE(write_file(file, net.model().SerializeAsString()).has_value());
    return OnnxModelSuite::open(file, 7, options);
  }

  // A file with a tensor of that name.
  std::filesystem::path tensor_file(const std::string& name, const Tensor& tensor) {
    onnx::TensorProto proto;
    write_tensor(tensor, name, proto);
    const auto file = folder_.path() / ("input_" + std::to_string(files_++) + ".pb");
    EXPECT_TRUE(write_file(file, proto.SerializeAsString()).has_value());
    return file;
  }

  TemporaryFolder folder_;
  int files_ = 0;
};

Tensor floats(std::vector<std::int64_t> shape, float value) {
  const auto count = static_cast<std::size_t>(elements_of(shape));
  return Tensor::of<float>(ElementType::float32, std::move(shape), std::vector<float>(count, value));
}

TEST_F(ComputedActivations, ReachTheNodesThatTheyReachInTheModel) {
  Network net = two_convolutions();
  auto source = open(net, {.activations = ModelOptions::Activations::computed});
  ASSERT_TRUE(source) << source.error().text();
  EXPECT_THAT((*source)->name(), HasSubstr("net.onnx, activations of test runtime 1, inputs drawn from seed 7"));
  std::vector<Case> cases;
  for (auto next = (*source)->next(); next && *next; next = (*source)->next()) cases.push_back(std::move(**next));
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(cases[0].inputs[0]->shape, (std::vector<std::int64_t>{1, 2, 2, 2})) << "a batch of one";
  // Outputs of the exposing model are a, b, c and d, in this order.
  EXPECT_EQ(cases[1].inputs[0]->values<std::uint8_t>(), std::vector<std::uint8_t>(8, 0));
  EXPECT_EQ(cases[1].recorded_output()->values<std::uint8_t>(), std::vector<std::uint8_t>(8, 1));
  EXPECT_EQ(cases[2].inputs[0]->values<std::uint8_t>(), std::vector<std::uint8_t>(8, 2)) << "behind what is no case";
  EXPECT_EQ(cases[2].recorded_output()->values<std::uint8_t>(), std::vector<std::uint8_t>(8, 3));
  EXPECT_EQ(cases[2].id, "d_node#3");
  EXPECT_THAT(cases[2].note, HasSubstr("activations of test runtime 1"));
}

TEST_F(ComputedActivations, AreDrawnWhereTheModelCannotRun) {
  refuses = true;
  Network net = two_convolutions();
  const auto must = open(net, {.activations = ModelOptions::Activations::computed});
  ASSERT_FALSE(must);
  EXPECT_THAT(must.error().text(), HasSubstr(kRefusal));
  const auto may = open(net, {.activations = ModelOptions::Activations::computed_if_possible});
  ASSERT_TRUE(may) << may.error().text();
  EXPECT_EQ((*may)->origin(), "activations drawn from seed 7");
  EXPECT_EQ(
      (*may)->skipped().count("a run of the model, activations are drawn instead (test runtime 1, no such operator)"),
      1U);
  const auto first = (*may)->next();
  ASSERT_TRUE(first && *first);
  EXPECT_FALSE((*first)->recorded_output());
}

TEST_F(ComputedActivations, OfAModelThatTakesTooMuchMemoryAreAnError) {
  if (!kCanLimitAddressSpace) GTEST_SKIP() << "this build's sanitizer maps terabytes";
  bytes_taken = std::size_t{1} << 30;
  Network net = two_convolutions();
  ModelOptions options{.activations = ModelOptions::Activations::computed_if_possible};
  options.memory = std::uint64_t{256} << 20;
  const auto opened = open(net, options);
  ASSERT_FALSE(opened);
  EXPECT_THAT(
      opened.error().text(),
      HasSubstr("net.onnx: test runtime 1: needs more than the limit of 256 MiB of memory; --model-memory gives "
                "it more [rule limit]"));
}

TEST_F(ComputedActivations, OfALargeModelAreComputedPartByPart) {
  Network net;
  net.input("v0", ElementType::uint8, {1, 2, 2, 2});
  constexpr int kNodes = 1500;
  for (int i = 0; i < kNodes; ++i) {
    net.node("QuantizeLinear", {"v" + std::to_string(i), net.scale("s" + std::to_string(i)), ""},
             "v" + std::to_string(i + 1));
  }
  net.graph().add_output()->set_name("v1500");
  const auto opened = open(net, {.activations = ModelOptions::Activations::computed});
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_EQ((*opened)->size(), std::uint64_t{kNodes});
}

TEST_F(ComputedActivations, InputsOfFilesAreCheckedAgainstTheModel) {
  Network net = two_convolutions();
  const auto error = [&](const std::vector<std::filesystem::path>& files) {
    const auto inputs = read_model_inputs(net.graph(), files);
    return inputs ? "" : inputs.error().text();
  };
  EXPECT_EQ(error({tensor_file("", floats({3, 2, 2, 2}, 1))}), "") << "any batch";
  EXPECT_EQ(error({}), "--input: expected one tensor for each input ('image'), got 0");
  EXPECT_EQ(error({tensor_file("", floats({1, 2, 2, 3}, 1))}),
            "input 'image': expected shape [?, 2, 2, 2], got [1, 2, 2, 3]");
  EXPECT_EQ(error({tensor_file("", floats({8}, 1))}), "input 'image': expected shape [?, 2, 2, 2], got [8]");
  const Tensor codes = Tensor::of<std::uint8_t>(ElementType::uint8, {1}, std::vector<std::uint8_t>{1});
  EXPECT_EQ(error({tensor_file("", codes)}), "input 'image': expected float, got uint8");
  const auto damaged = folder_.path() / "damaged.pb";
  ASSERT_TRUE(write_file(damaged, "no tensor"));
  EXPECT_THAT(error({damaged}), HasSubstr("damaged.pb"));
}

TEST_F(ComputedActivations, InputsOfFilesDecideOpenSizes) {
  Network net = two_convolutions();
  auto& image = *net.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  const auto opened = open(
      net, {.activations = ModelOptions::Activations::computed, .inputs = {tensor_file("", floats({3, 2, 2, 2}, 1))}});
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_THAT((*opened)->name(), ::testing::Not(HasSubstr("assumed")));
  const NamedTensors given{{"image", floats({3, 2, 2, 2}, 1)}};
  image.mutable_dim(0)->set_dim_param("n");
  ASSERT_TRUE(take_dimensions_of(given, net.graph()));
  EXPECT_EQ(image.dim(0).dim_value(), 3);
  for (const int i : {0, 1}) image.mutable_dim(i)->set_dim_param("n");
  const auto two_sizes = take_dimensions_of(given, net.graph());
  ASSERT_FALSE(two_sizes);
  EXPECT_EQ(two_sizes.error().text(), "input 'image': dimension 'n' is 2 here, and 3 elsewhere");
}

TEST_F(ComputedActivations, InputsAreFoundByNameThenByOrder) {
  Network net;
  for (const char* name : {"first", "second", "third"}) net.input(name, ElementType::float32, {1});
  const std::vector<std::filesystem::path> files = {
      tensor_file("other", floats({1}, 5)), tensor_file("first", floats({1}, 6)), tensor_file("", floats({1}, 7))};
  const auto inputs = read_model_inputs(net.graph(), files);
  ASSERT_TRUE(inputs) << inputs.error().text();
  EXPECT_THAT(inputs->at("first").values<float>(), ElementsAre(6));
  EXPECT_THAT(inputs->at("second").values<float>(), ElementsAre(5));
  EXPECT_THAT(inputs->at("third").values<float>(), ElementsAre(7));
}

TEST_F(ComputedActivations, DrawnInputsAreThoseOfTheSeed) {
  Network net;
  net.input("image", ElementType::float32, {-1, 1000});
  const auto inputs = draw_model_inputs(net.graph(), 3);
  ASSERT_TRUE(inputs) << inputs.error().text();
  const std::vector<float> values = inputs->at("image").values<float>();
  EXPECT_EQ(values.size(), 1000U);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -2.0F);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 2.0F);
  EXPECT_EQ(draw_model_inputs(net.graph(), 3)->at("image"), inputs->at("image"));
  EXPECT_NE(draw_model_inputs(net.graph(), 4)->at("image"), inputs->at("image"));
}

TEST_F(ComputedActivations, ReportsInputsThatItCannotDraw) {
  const auto error = [](ElementType type, const std::vector<std::int64_t>& shape) {
    Network net;
    net.input("x", type, shape);
    const auto inputs = draw_model_inputs(net.graph(), 1);
    return inputs ? "" : inputs.error().text();
  };
  EXPECT_EQ(error(ElementType::float32, {1, -1}),
            "input 'x': dimension 1 of [1, ?] is unknown; give a tensor with --input");
  EXPECT_EQ(error(ElementType::float64, {1}),
            "input 'x': values of type double are not drawn; give a tensor with --input");
  EXPECT_EQ(error(ElementType::bfloat16, {1}), "");
  EXPECT_EQ(error(ElementType::string, {1}), "input 'x': expected a tensor of a known type");
}

// Data that are drawn for inputs that a model does not hold.

using enum ElementType;
using ::testing::Each;
using ::testing::IsEmpty;

using Shape = std::vector<std::int64_t>;

class DrawnInputs : public testing::ModelFixture {
 protected:
  /// A network of the newest opset that knows all types.
  static Network network() {
    Network net;
    net.model().mutable_opset_import(0)->set_version(25);
    return net;
  }
  /// A value of which nothing is known but that a model computes it.
  static std::string computed(Network& net, const std::string& name) {
    net.node("Mystery", {}, name, "com.example");
    return name;
  }
  static std::string scales(Network& net, const std::string& name, std::int64_t count) {
    const std::vector<float> values(static_cast<std::size_t>(count), 0.5F);
    return net.constant(name, Tensor::of<float>(float32, {count}, values));
  }
  static std::string weights(Network& net, const Shape& shape) {
    const std::vector<std::int8_t> values(static_cast<std::size_t>(elements_of(shape)), 3);
    return net.constant("w", Tensor::of<std::int8_t>(int8, shape, values));
  }
};

TEST_F(DrawnInputs, ZeroPointsWithoutAnOffsetAreZero) {
  for (const ElementType type : {int32, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float4e2m1}) {
    Network net = network();
    net.input("x", type, {1, 64});
    net.input("z", undefined, {64});
    net.node("DequantizeLinear", {"x", scales(net, "s", 64), "z"}, "y");
    const Case one = only_case(net);
    EXPECT_EQ(one.inputs[2]->type, type);
    EXPECT_THAT(one.inputs[2]->bytes, Each(std::byte{0})) << name_of(type);
    if (type != float4e2m1) {
      EXPECT_EQ(classify(one).expectation(), Expectation::valid)
          << name_of(type);  // float4 itself is implementation-defined (D3)
    }
  }
}

TEST_F(DrawnInputs, OtherZeroPointsAreDrawn) {
  for (const ElementType type : {uint8, int16, int4}) {
    Network net = network();
    net.input("x", type, {1, 64});
    net.input("z", type, {64});
    net.node("DequantizeLinear", {"x", scales(net, "s", 64), "z"}, "y");
    const Case one = only_case(net);
    EXPECT_NE(std::count(one.inputs[2]->bytes.begin(), one.inputs[2]->bytes.end(), std::byte{0}),
              static_cast<std::ptrdiff_t>(one.inputs[2]->bytes.size()));
  }
}

TEST_F(DrawnInputs, StatedTypesStay) {
  Network net = network();
  net.input("x", int8, {1, 4});
  net.node("DequantizeLinear", {"x", net.scale("s"), net.zero_point("z")}, "y");  // the zero point is uint8
  EXPECT_EQ(only_case(net).inputs[0]->type, int8);

  Network zero_point = network();
  zero_point.input("x", uint8, {1, 4});
  zero_point.input("z", int8, {});
  zero_point.node("DequantizeLinear", {"x", zero_point.scale("s"), "z"}, "y");
  const Case one = only_case(zero_point);
  EXPECT_EQ(one.inputs[0]->type, uint8);
  EXPECT_EQ(one.inputs[2]->type, int8);
}

TEST_F(DrawnInputs, UnknownTypesFollowTheirPartner) {
  Network net = network();
  net.node("DequantizeLinear",
           {computed(net, "x"), net.scale("s"), net.constant("z", Tensor::scalar<std::int16_t>(int16, 3))}, "y");
  EXPECT_EQ(only_case(net).inputs[0]->type, int16);

  Network output = network();
  output.input("x", float32, {1, 4});
  Network::integer(output.node("QuantizeLinear", {"x", output.scale("s"), computed(output, "z")}, "y"), "output_dtype",
                   static_cast<std::int64_t>(int16));
  EXPECT_EQ(only_case(output).inputs[2]->type, int16);
}

TEST_F(DrawnInputs, ParametersOfUnknownShapeFollowTheirPartner) {
  Network net = network();
  net.input("x", uint8, {1, 2, 4, 4});
  weights(net, {3, 2, 1, 1});
  net.node("QLinearConv",
           {"x", computed(net, "xs"), net.zero_point("xz"), "w", scales(net, "ws", 3), computed(net, "wz"),
            net.scale("ys"), computed(net, "yz"), computed(net, "b")},
           "y");
  const Case convolution = only_case(net);
  EXPECT_EQ(convolution.inputs[1]->shape, Shape{});
  EXPECT_EQ(convolution.inputs[5]->shape, Shape{3});
  EXPECT_EQ(convolution.inputs[7]->shape, Shape{});
  EXPECT_EQ(convolution.inputs[8]->shape, Shape{3});
  EXPECT_EQ(classify(convolution).expectation(), Expectation::valid);
}

TEST_F(DrawnInputs, ScalesAndTheirZeroPointsHaveOneShape) {
  Network net = network();
  net.input("x", uint8, {2, 5, 3});
  net.input("z", uint8, {5});
  net.node("DequantizeLinear", {"x", computed(net, "s"), "z"}, "y");
  EXPECT_EQ(only_case(net).inputs[1]->shape, Shape{5});

  Network open_length = network();  // one axis, of a length that follows from x
  open_length.input("x", uint8, {2, 5, 3});
  onnx::ValueInfoProto& declared = *open_length.graph().add_value_info();
  declared.set_name("s");
  declared.mutable_type()->mutable_tensor_type()->set_elem_type(1);
  declared.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param("C");
  open_length.node("DequantizeLinear", {"x", computed(open_length, "s"), computed(open_length, "z")}, "y");
  const Case one = only_case(open_length);
  EXPECT_EQ(one.inputs[1]->shape, Shape{5});
  EXPECT_EQ(one.inputs[2]->shape, Shape{5});
}

TEST_F(DrawnInputs, DataOfUnknownShapeFitsItsParameters) {
  Network first_axis = network();
  Network::integer(first_axis.node("DequantizeLinear", {computed(first_axis, "x"), scales(first_axis, "s", 6)}, "y"),
                   "axis", 0);
  EXPECT_EQ(only_case(first_axis).inputs[0]->shape, (Shape{6, 8, 14, 14}));

  Network blocked = network();
  const std::vector<float> values(6, 0.5F);
  onnx::NodeProto& node =
      blocked.node("DequantizeLinear",
                   {computed(blocked, "x"), blocked.constant("s", Tensor::of<float>(float32, {3, 2}, values))}, "y");
  Network::integer(node, "axis", 1);
  Network::integer(node, "block_size", 16);
  const Case one = only_case(blocked);
  EXPECT_EQ(one.inputs[0]->shape, (Shape{3, 32}));
  EXPECT_EQ(classify(one).expectation(), Expectation::valid);
}

TEST_F(DrawnInputs, SmallFloatsAreValues) {
  for (const ElementType type : {float16, bfloat16}) {
    Network net = network();
    net.input("x", type, {1, 1000});
    const std::uint16_t quarter = type == float16 ? 0x3400 : 0x3E80;
    net.constant("s", Tensor::scalar<std::uint16_t>(type, quarter));
    net.node("QuantizeLinear", {"x", "s", net.zero_point("z")}, "y");
    const Case one = only_case(net);
    EXPECT_EQ(one.inputs[0]->type, type);
    EXPECT_EQ(classify(one).expectation(), Expectation::valid);
    int in_range = 0;
    for (std::int64_t i = 0; i < 1000; ++i) {
      const double steps = number_at(*one.inputs[0], i) / 0.25 + 128;
      ASSERT_GE(steps, -162);
      ASSERT_LE(steps, 290);
      in_range += steps >= 0 && steps <= 255 ? 1 : 0;
    }
    EXPECT_GT(in_range, 400) << name_of(type);
  }
}

TEST_F(DrawnInputs, SmallFloatScalesAreThoseOfModels) {
  for (const ElementType type : {float16, bfloat16}) {
    Network net = network();
    net.input("x", int8, {1, 64});
    net.input("s", type, {64});
    net.node("DequantizeLinear", {"x", "s"}, "y");
    const Case one = only_case(net);
    for (std::int64_t i = 0; i < 64; ++i) {
      EXPECT_GE(number_at(*one.inputs[1], i), 0x1p-13);
      EXPECT_LE(number_at(*one.inputs[1], i), 8);
    }
  }
}

TEST_F(DrawnInputs, AssumedDimensionsAreFew) {
  Network net = network();
  net.input("x", float32, Shape(9, -1));
  net.node("QuantizeLinear", {"x", net.scale("s"), net.zero_point("z")}, "y");
  EXPECT_LE(only_case(net).inputs[0]->elements(), kAssumedElements);

  Network convolution = network();
  convolution.input("x", uint8, Shape(9, -1));
  convolution.node("ConvInteger", {"x", weights(convolution, {1, 2, 3, 1, 1, 1, 1, 1, 1})}, "y");
  const Case one = only_case(convolution);
  EXPECT_EQ(one.inputs[0]->shape, (Shape{1, 2, 4, 4, 4, 4, 4, 4, 4}));
  EXPECT_EQ(classify(one).expectation(), Expectation::valid);
}

TEST_F(DrawnInputs, ANameHasOneSize) {
  Network net = network();
  net.input("state", float32, {2, -1, -1});
  net.input("x", float32, {-1, -1});
  net.input("of no column", uint8, {3, 0});
  const auto dimension = [&](int input, int at) {
    return net.graph().mutable_input(input)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(at);
  };
  dimension(0, 1)->set_dim_param("batch");
  dimension(0, 2)->set_dim_param("length");
  dimension(1, 0)->set_dim_param("batch");
  dimension(1, 1)->set_dim_param("length");
  const auto assumed = set_dimensions(net.graph(), {}, true);
  ASSERT_TRUE(assumed) << assumed.error().text();
  EXPECT_EQ(*assumed, "length = 16");
  EXPECT_EQ(dimension(0, 1)->dim_value(), 1);
  EXPECT_EQ(dimension(0, 2)->dim_value(), dimension(1, 1)->dim_value());
  EXPECT_EQ(dimension(2, 1)->dim_value(), 0) << "a size that is stated";
}

TEST_F(DrawnInputs, WindowsBeyondAnyAssumedSizeAreSkipped) {
  Network net = network();
  net.input("x", uint8, {1, 1, -1, -1});
  Network::ints(net.node("ConvInteger", {"x", weights(net, {1, 1, 3, 3})}, "y"), "dilations", {4000, 4000});
  const auto source = open(net);
  EXPECT_THAT(cases_of(*source), IsEmpty());
  EXPECT_THAT(in_no_case(*source),
              ElementsAre(HasSubstr("size: a window larger than an input whose size the model does not tell")));
}

}  // namespace
}  // namespace qconform
