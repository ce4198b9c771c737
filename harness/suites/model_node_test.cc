// Data that are drawn for inputs that a model does not hold.
#include "harness/suites/model_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/onnx/node_inputs.h"
#include "harness/tests/model_fixture.h"

namespace qconform {
namespace {

using enum ElementType;
using ::qconform::testing::Network;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
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
