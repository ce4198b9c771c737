#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "harness/model/text.h"
#include "harness/onnx/graph_scope.h"
#include "harness/tests/network.h"

namespace qconform {
namespace {

using ::qconform::testing::Network;
using ::testing::HasSubstr;

using Values = std::vector<std::int64_t>;

/// 1 to 6 in two rows of three.
Tensor two_rows() {
  return Tensor::of<std::int8_t>(ElementType::int8, {2, 3}, std::vector<std::int8_t>{1, 2, 3, 4, 5, 6});
}

Tensor row(const Values& values) {
  return Tensor::of<std::int64_t>(ElementType::int64, {static_cast<std::int64_t>(values.size())}, values);
}

/// Folds the constants of a network whose quantized node takes "v", the output of a node on constants "a" (two_rows()),
/// "b" and "c".
class Folding : public ::testing::Test {
 protected:
  Folding() { net_.constant("a", two_rows()); }

  onnx::NodeProto& node(const std::string& op_type, const std::vector<std::string>& inputs) {
    return net_.node(op_type, inputs, "v");
  }
  std::optional<Tensor> folded() {
    net_.node("DequantizeLinear", {"v", net_.scale("s")}, "y");
    GraphScope scope(net_.graph());
    const auto done = fold_constants(scope, std::nullopt);
    EXPECT_TRUE(done) << done.error().text();
    const onnx::TensorProto* constant = scope.constant("v");
    if (constant == nullptr) return std::nullopt;
    EXPECT_EQ(scope.facts("v").type, static_cast<ElementType>(constant->data_type()));
    return *tensor_from_proto(*constant, std::nullopt);
  }
  void expect_bytes(const Values& shape, const std::vector<std::int8_t>& values) {
    EXPECT_EQ(folded(), Tensor::of<std::int8_t>(ElementType::int8, shape, values));
  }
  void expect_numbers(const Values& shape, const Values& values) {
    EXPECT_EQ(folded(), Tensor::of<std::int64_t>(ElementType::int64, shape, values));
  }

  Network net_;
};

TEST_F(Folding, Identity) {
  node("Identity", {"a"});
  EXPECT_EQ(folded(), two_rows());
}

TEST_F(Folding, Cast) {
  Network::integer(node("Cast", {"a"}), "to", static_cast<std::int64_t>(ElementType::float32));
  EXPECT_EQ(folded(), Tensor::of<float>(ElementType::float32, {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Folding, Reshape) {
  node("Reshape", {"a", net_.constant("b", row({0, -1, 1}))});
  expect_bytes({2, 3, 1}, {1, 2, 3, 4, 5, 6});
}

TEST_F(Folding, Transpose) {
  Network::ints(node("Transpose", {"a"}), "perm", {1, 0});
  expect_bytes({3, 2}, {1, 4, 2, 5, 3, 6});
}

TEST_F(Folding, TransposeOfPackedElements) {
  net_.constant("b", Tensor{ElementType::int4, {2, 2}, {std::byte{0x21}, std::byte{0x43}}});
  node("Transpose", {"b"});
  EXPECT_EQ(folded(), (Tensor{ElementType::int4, {2, 2}, {std::byte{0x31}, std::byte{0x42}}}));
}

TEST_F(Folding, UnsqueezeByInput) {
  node("Unsqueeze", {"a", net_.constant("b", row({-1, 0}))});
  expect_bytes({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
}

TEST_F(Folding, UnsqueezeByAttribute) {
  Network::ints(node("Unsqueeze", {"a"}), "axes", {1});
  expect_bytes({2, 1, 3}, {1, 2, 3, 4, 5, 6});
}

TEST_F(Folding, Squeeze) {
  net_.constant("b", Tensor::of<std::int8_t>(ElementType::int8, {1, 2, 1}, std::vector<std::int8_t>{8, 9}));
  node("Squeeze", {"b"});
  expect_bytes({2}, {8, 9});
}

TEST_F(Folding, Flatten) {
  Network::integer(node("Flatten", {"a"}), "axis", 0);
  expect_bytes({1, 6}, {1, 2, 3, 4, 5, 6});
}

TEST_F(Folding, Slice) {
  node("Slice", {"a", net_.constant("b", row({-1, 1})), net_.constant("c", row({INT64_MIN, INT64_MAX})),
                 net_.constant("d", row({1, 0})), net_.constant("e", row({-2, 1}))});
  expect_bytes({1, 2}, {6, 4});
}

TEST_F(Folding, SliceByAttributes) {
  onnx::NodeProto& slice = node("Slice", {"a"});
  Network::ints(slice, "starts", {0, 1});
  Network::ints(slice, "ends", {2, 3});
  expect_bytes({2, 2}, {2, 3, 5, 6});
}

TEST_F(Folding, Concat) {
  Network::integer(node("Concat", {"a", "a"}), "axis", -1);
  expect_bytes({2, 6}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
}

TEST_F(Folding, Expand) {
  net_.constant("b", Tensor::of<std::int8_t>(ElementType::int8, {2, 1}, std::vector<std::int8_t>{8, 9}));
  node("Expand", {"b", net_.constant("c", row({2, 1, 2}))});
  expect_bytes({2, 2, 2}, {8, 8, 9, 9, 8, 8, 9, 9});
}

TEST_F(Folding, Gather) {
  Network::integer(node("Gather", {"a", net_.constant("b", row({-1, 0}))}), "axis", 1);
  expect_bytes({2, 2}, {3, 1, 6, 4});
}

TEST_F(Folding, ShapeAndSize) {
  net_.node("Shape", {"a"}, "shape");
  net_.node("Size", {"a"}, "size");
  net_.node("Reshape", {"size", net_.constant("one", row({1}))}, "sizes");
  Network::integer(node("Concat", {"shape", "sizes"}), "axis", 0);
  expect_numbers({3}, {2, 3, 6});
}

TEST_F(Folding, ConstantWithNumbers) {
  Network::ints(node("Constant", {}), "value_ints", {4, 5});
  expect_numbers({2}, {4, 5});
}

TEST_F(Folding, ConstantOfShape) {
  onnx::AttributeProto& value = *node("ConstantOfShape", {net_.constant("b", row({2}))}).add_attribute();
  value.set_name("value");
  write_tensor(Tensor::of<std::int8_t>(ElementType::int8, {1}, std::vector<std::int8_t>{7}), "", *value.mutable_t());
  expect_bytes({2}, {7, 7});
}

TEST_F(Folding, ArithmeticOfIntegersWrapsAndIsBroadcast) {
  net_.constant("b", Tensor::of<std::int8_t>(ElementType::int8, {2, 1}, std::vector<std::int8_t>{100, -2}));
  net_.node("Sub", {"a", "b"}, "difference");
  net_.node("Mul", {"difference", "b"}, "product");
  net_.node("Div", {"product", net_.constant("c", Tensor::scalar<std::int8_t>(ElementType::int8, 3))}, "quotient");
  node("Add", {"quotient", "a"});
  // (1 - 100) * 100 is -9900, and 84 of eight bits.
  expect_bytes({2, 3}, {29, -22, 12, 0, 1, 1});
}

TEST_F(Folding, ArithmeticOfFloatsRoundsInTheirType) {
  net_.constant("b", Tensor::of<float>(ElementType::float32, {3}, std::vector<float>{1, 0.1F, 3}));
  net_.constant("c", Tensor::scalar<float>(ElementType::float32, 0.7F));
  net_.node("Mul", {"b", "c"}, "product");
  net_.node("Div", {"product", "b"}, "quotient");
  node("Sub", {"quotient", net_.constant("d", Tensor::scalar<float>(ElementType::float32, 0.3F))});
  const auto step = [](float b) { return b * 0.7F / b - 0.3F; };
  EXPECT_EQ(folded(), Tensor::of<float>(ElementType::float32, {3}, std::vector<float>{step(1), step(0.1F), step(3)}));
}

TEST_F(Folding, WhatAModelComputesIsNoConstant) {
  net_.input("x", ElementType::int8, {2, 3});
  node("Identity", {"x"});
  EXPECT_EQ(folded(), std::nullopt);
}

TEST_F(Folding, ValuesOfOtherGraphsAreSeenFromBodies) {
  net_.input("condition", ElementType::boolean, {});
  net_.node("Identity", {"a"}, "v");
  Network body;
  body.node("Identity", {"v"}, "inside");
  body.node("DequantizeLinear", {"inside", body.scale("s")}, "y");
  onnx::AttributeProto& attribute = *net_.node("If", {"condition"}, "z").add_attribute();
  attribute.set_name("then_branch");
  *attribute.mutable_g() = body.graph();
  GraphScope scope(net_.graph());
  ASSERT_TRUE(fold_constants(scope, std::nullopt));
  EXPECT_NE(scope.bodies().front()->constant("inside"), nullptr);
}

TEST_F(Folding, ValuesThatNoQuantizedNodeNeedsAreLeft) {
  net_.node("Transpose", {"a"}, "unused");
  GraphScope scope(net_.graph());
  ASSERT_TRUE(fold_constants(scope, std::nullopt));
  EXPECT_EQ(scope.constant("unused"), nullptr);
}

TEST_F(Folding, DamagedConstantsAreNamed) {
  node("Transpose", {"a"});
  net_.graph().mutable_initializer(0)->set_raw_data("short");
  net_.node("DequantizeLinear", {"v", net_.scale("s")}, "y");
  GraphScope scope(net_.graph());
  const auto done = fold_constants(scope, std::nullopt);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text(), HasSubstr("tensor 'a': "));
}

/// Each of them must be left alone, not read beyond its tensor.
TEST(FoldingWrongNodes, GivesNothing) {
  const std::vector<std::function<void(Network&)>> wrong{
      [](Network& net) {
        net.node("Reshape", {"a", net.constant("b", row({4, -1}))}, "v");
      },
      [](Network& net) {
        net.node("Reshape", {"a", net.constant("b", row({2, 3, 0}))}, "v");
      },
      [](Network& net) {
        Network::ints(net.node("Transpose", {"a"}, "v"), "perm", {0, 0});
      },
      [](Network& net) { Network::ints(net.node("Transpose", {"a"}, "v"), "perm", {0}); },
      [](Network& net) {
        net.node("Unsqueeze", {"a", net.constant("b", row({0, 0}))}, "v");
      },
      [](Network& net) {
        net.node("Squeeze", {"a", net.constant("b", row({0}))}, "v");
      },
      [](Network& net) { Network::integer(net.node("Flatten", {"a"}, "v"), "axis", 3); },
      [](Network& net) {
        net.node("Slice",
                 {"a", net.constant("b", row({0, 1})), net.constant("c", row({1, 2})), net.constant("d", row({0, 0}))},
                 "v");
      },
      [](Network& net) {
        net.node("Expand", {"a", net.constant("b", row({4, 3}))}, "v");
      },
      [](Network& net) {
        net.node("Expand", {"a", net.constant("b", row({1 << 20, 2, 3}))}, "v");
      },
      [](Network& net) {
        net.node("Gather", {"a", net.constant("b", row({2}))}, "v");
      },
      [](Network& net) {
        net.node("Concat", {"a", net.constant("b", row({2}))}, "v");
      },
      [](Network& net) { net.node("ConstantOfShape", {net.constant("b", row({1 << 24}))}, "v"); },
      [](Network& net) { net.node("ConstantOfShape", {net.constant("b", row({-1}))}, "v"); },
      [](Network& net) { Network::integer(net.node("Cast", {"a"}, "v"), "to", 99); },
      [](Network& net) { net.node("Identity", {}, "v"); },
      [](Network& net) { net.node("Add", {"a"}, "v"); },
      [](Network& net) {
        net.node("Add", {"a", net.constant("b", row({2}))}, "v");
      },
      [](Network& net) {
        net.constant("b", Tensor::of<std::int8_t>(ElementType::int8, {2}, std::vector<std::int8_t>{1, 2}));
        net.node("Mul", {"a", "b"}, "v");
      },
      [](Network& net) {
        net.node("Div", {"a", net.constant("b", Tensor::scalar<std::int8_t>(ElementType::int8, 0))}, "v");
      },
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    Network net;
    net.constant("a", two_rows());
    wrong[i](net);
    net.node("DequantizeLinear", {"v", net.scale("s")}, "y");
    GraphScope scope(net.graph());
    EXPECT_TRUE(fold_constants(scope, std::nullopt)) << i;
    EXPECT_EQ(scope.constant("v"), nullptr) << i;
  }
}

using enum ElementType;

template <typename T>
Tensor row(ElementType type, const std::vector<T>& values) {
  return Tensor::of<T>(type, {static_cast<std::int64_t>(values.size())}, values);
}

std::vector<double> numbers(const std::optional<Tensor>& tensor) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; tensor && i < tensor->elements(); ++i) numbers.push_back(number_at(*tensor, i));
  return numbers;
}

TEST(TensorCast, IntegersKeepTheirLowBits) {
  const Tensor wide = row<std::int64_t>(int64, {-1, 5, 200, 257});
  EXPECT_EQ(cast(wide, uint8, true)->values<std::uint8_t>(), (std::vector<std::uint8_t>{255, 5, 200, 1}));
  EXPECT_EQ(numbers(cast(wide, int4, true)), (std::vector<double>{-1, 5, -8, 1}));
  EXPECT_EQ(cast(wide, boolean, true)->values<std::uint8_t>(), (std::vector<std::uint8_t>{1, 1, 1, 1}));
}

TEST(TensorCast, IntegersRoundOnceToFloats) {
  const std::int64_t odd = (std::int64_t{1} << 62) + (std::int64_t{1} << 38) + 1;  // above a tie that float64 hides
  EXPECT_EQ(cast(row<std::int64_t>(int64, {odd, -3}), float32, true)->values<float>(),
            (std::vector<float>{0x1.000002p62F, -3.0F}));
  EXPECT_EQ(numbers(cast(row<std::uint64_t>(uint64, {~std::uint64_t{0}}), float32, true)), std::vector<double>{0x1p64});
}

TEST(TensorCast, FloatsRoundToNearestAndTruncateToIntegers) {
  const Tensor floats = row<float>(float32, {0.1F, -2.75F, 1e9F});
  EXPECT_EQ(numbers(cast(floats, float16, true)),
            (std::vector<double>{0x1.998p-4, -2.75, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(numbers(cast(floats, float8e4m3fn, true)), (std::vector<double>{0.1015625, -2.75, 448}));
  EXPECT_EQ(cast(floats, int32, true)->values<std::int32_t>(), (std::vector<std::int32_t>{0, -2, 1000000000}));
  EXPECT_EQ(cast(floats, boolean, true)->values<std::uint8_t>(), (std::vector<std::uint8_t>{1, 1, 1}));
}

TEST(TensorCast, WhatOnnxLeavesOpenIsNotComputed) {
  for (const float value : {std::nanf(""), 128.0F, -129.0F, 1e30F}) {
    EXPECT_FALSE(cast(row<float>(float32, {value}), int8, true)) << value;
  }
  EXPECT_EQ(numbers(cast(row<float>(float32, {-128.9F, 127.9F}), int8, true)), (std::vector<double>{-128, 127}));
  EXPECT_FALSE(cast(row<float>(float32, {1.0F}), float8e8m0, true));
  EXPECT_FALSE(cast(row<float>(float32, {1.0F}), complex64, true));
}

}  // namespace
}  // namespace qconform
