#include "reference/dequantize_linear/dequantize_linear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "harness/tests/test_scale.h"
#include "reference/oracle/exact.h"
#include "reference/oracle/random_convolution.h"
#include "reference/tests/quantize_sweep.h"

namespace qconform::reference {
namespace {

using oracle::Random;

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

std::vector<float> dequantized(const DequantizeLinear& node, const std::vector<std::byte>& x) {
  std::vector<float> y(static_cast<std::size_t>(node.layout.elements()));
  dequantize_linear(node, x, std::as_writable_bytes(std::span(y)));
  return y;
}

TEST(DequantizeLinear, EqualsTheDefinitionForEveryValueAndZeroPoint) {
  oracle::expect_every_8_bit_value_dequantized(testing::scaled(100));
}

// Multiplying out, x*s - zp*s, rounds three times: rule D1 calls it wrong.
TEST(DequantizeLinear, SubtractsBeforeItMultiplies) {
  DequantizeLinear node;
  node.layout = {.outer = 1, .channels = 1, .inner = 1};
  node.x_scale = {0.1F};
  node.x_zero_point = {252};
  const std::vector<float> y = dequantized(node, {std::byte{253}});
  EXPECT_EQ(bits(y[0]), bits(0.1F));
  const float product_of_x = 253.0F * 0.1F;
  const float product_of_zero_point = 252.0F * 0.1F;
  EXPECT_NE(bits(product_of_x - product_of_zero_point), bits(0.1F));
}

TEST(DequantizeLinear, ZeroHasTheSignOfTheScale) {
  DequantizeLinear node;
  node.layout = {.outer = 1, .channels = 2, .inner = 1};
  node.x_scale = {0.5F, -0.5F};
  node.x_zero_point = {128, 128};
  const std::vector<float> y = dequantized(node, {std::byte{128}, std::byte{128}});
  EXPECT_EQ(bits(y[0]), bits(0.0F));
  EXPECT_EQ(bits(y[1]), bits(-0.0F));
}

// int32: RN32(RN32(x) * scale), one of the answers that rule D2 admits.
TEST(DequantizeLinear, Int32IsRoundedToFloat32First) {
  Random random(41);
  DequantizeLinear node;
  node.layout = {.outer = 1, .channels = 1, .inner = 1};
  node.x_type = ElementType::int32;
  node.x_scale = {1.0F};
  node.x_zero_point = {0};
  int differs_from_one_rounding = 0;
  const int count = testing::scaled(20'000);
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<std::int32_t>(random.of_any_length(31));
    node.x_scale[0] = random.positive_float(-20, 10);
    std::vector<std::byte> x(4);
    std::memcpy(x.data(), &value, sizeof value);
    const std::vector<float> y = dequantized(node, x);
    const mpq_class scale = oracle::exact(node.x_scale[0]);
    ASSERT_EQ(bits(y[0]), bits(oracle::rn32(oracle::exact(oracle::rn32(mpq_class(value))) * scale))) << value;
    if (y[0] != oracle::rn32(mpq_class(value) * scale)) ++differs_from_one_rounding;
  }
  if (count < 1000) return;  // too few for shares to mean anything
  EXPECT_GE(differs_from_one_rounding, count / 50);
}

// x as [outer 2, channels 2, inner 2].
TEST(DequantizeLinear, ParametersBelongToTheirChannel) {
  DequantizeLinear node;
  node.layout = {.outer = 2, .channels = 2, .inner = 2};
  node.x_type = ElementType::int8;
  node.x_scale = {1.0F, 0.25F};
  node.x_zero_point = {0, -4};
  std::vector<std::byte> x;
  for (const int value : {1, 2, 3, 4, -1, -2, -3, -4}) x.push_back(static_cast<std::byte>(value & 0xFF));
  EXPECT_EQ(dequantized(node, x), (std::vector<float>{1, 2, 1.75F, 2, -1, -2, 0.25F, 0}));
}

}  // namespace
}  // namespace qconform::reference
