#include "reference/dequantize_linear/dequantize_linear.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/tests/test_scale.h"
#include "reference/oracle/exact.h"
#include "reference/oracle/quantization.h"
#include "reference/oracle/random.h"

namespace qconform::reference {
namespace {

using oracle::Random;

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

std::vector<std::byte> all_bytes() {
  std::vector<std::byte> bytes;
  for (int raw = 0; raw < 256; ++raw) bytes.push_back(static_cast<std::byte>(raw));
  return bytes;
}

float random_scale(Random& random, int index) {
  constexpr std::array kBorders{std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(),
                                std::numeric_limits<float>::max(), -1.0F, 0.0F};
  if (index < static_cast<int>(kBorders.size())) return kBorders[static_cast<std::size_t>(index)];
  if (index % 3 == 0) return random.any_float();
  return random.one_in(8) ? -random.positive_float(-30, 10) : random.positive_float(-30, 10);
}

// Every x and every zero point of one 8-bit type: zero points are the channels of one tensor.
void expect_dequantized(float scale, DequantizeInput type) {
  const int lo = type == DequantizeInput::uint8 ? 0 : -128;
  std::array<float, 511> expected;  // by the difference, from -255
  for (int d = -255; d <= 255; ++d) expected[static_cast<std::size_t>(d + 255)] = oracle::dequantize(d, scale);
  DequantizeLinear node;
  node.layout = {.outer = 1, .channels = 256, .inner = 256};
  node.x_type = type;
  node.x_scale.assign(256, scale);
  std::vector<std::byte> x;
  for (int zero_point = lo; zero_point <= lo + 255; ++zero_point) {
    node.x_zero_point.push_back(zero_point);
    const std::vector<std::byte> row = all_bytes();
    x.insert(x.end(), row.begin(), row.end());
  }
  std::vector<float> y(x.size());
  dequantize_linear(node, x, y);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto raw = static_cast<int>(i % 256);
    const int value = type == DequantizeInput::int8 && raw > 127 ? raw - 256 : raw;
    const int difference = value - (lo + static_cast<int>(i / 256));
    ASSERT_EQ(bits(y[i]), bits(expected[static_cast<std::size_t>(difference + 255)]))
        << difference << " * " << ::testing::PrintToString(scale);
  }
}

TEST(DequantizeLinear, EqualsTheDefinitionForEveryValueAndZeroPoint) {
  Random random(37);
  for (int i = 0; i < testing::scaled(100); ++i) {
    const float scale = random_scale(random, i);
    ASSERT_NO_FATAL_FAILURE(expect_dequantized(scale, DequantizeInput::uint8));
    ASSERT_NO_FATAL_FAILURE(expect_dequantized(scale, DequantizeInput::int8));
  }
}

// Multiplying out, x*s - zp*s, rounds three times: rule D1 calls it wrong.
TEST(DequantizeLinear, SubtractsBeforeItMultiplies) {
  DequantizeLinear node;
  node.layout = {.outer = 1, .channels = 1, .inner = 1};
  node.x_scale = {0.1F};
  node.x_zero_point = {252};
  std::vector<float> y(1);
  dequantize_linear(node, std::vector<std::byte>{std::byte{253}}, y);
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
  std::vector<float> y(2);
  dequantize_linear(node, std::vector<std::byte>{std::byte{128}, std::byte{128}}, y);
  EXPECT_EQ(bits(y[0]), bits(0.0F));
  EXPECT_EQ(bits(y[1]), bits(-0.0F));
}

// int32: RN32(RN32(x) * scale), one of the answers that rule D2 admits.
TEST(DequantizeLinear, Int32IsRoundedToFloat32First) {
  Random random(41);
  DequantizeLinear node;
  node.layout = {.outer = 1, .channels = 1, .inner = 1};
  node.x_type = DequantizeInput::int32;
  node.x_scale = {1.0F};
  node.x_zero_point = {0};
  int differs_from_one_rounding = 0;
  const int count = testing::scaled(20'000);
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<std::int32_t>(random.of_any_length(31));
    node.x_scale[0] = random.positive_float(-20, 10);
    std::vector<std::byte> x(4);
    std::memcpy(x.data(), &value, sizeof value);
    std::vector<float> y(1);
    dequantize_linear(node, x, y);
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
  node.x_type = DequantizeInput::int8;
  node.x_scale = {1.0F, 0.25F};
  node.x_zero_point = {0, -4};
  std::vector<std::byte> x;
  for (const int value : {1, 2, 3, 4, -1, -2, -3, -4}) x.push_back(static_cast<std::byte>(value & 0xFF));
  std::vector<float> y(x.size());
  dequantize_linear(node, x, y);
  EXPECT_EQ(y, (std::vector<float>{1, 2, 1.75F, 2, -1, -2, 0.25F, 0}));
}

}  // namespace
}  // namespace qconform::reference
