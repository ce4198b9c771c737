#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/tests/test_scale.h"
#include "reference/linear_quantization/dequantize_linear.h"
#include "reference/linear_quantization/quantize_linear.h"
#include "reference/oracle/definitions.h"
#include "reference/oracle/random_convolution.h"
#include "reference/tests/quantize_sweep.h"

namespace qconform::reference {
namespace {

using oracle::exact;
using oracle::Random;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

constexpr IntegerRange kUint8{0, 255};
constexpr IntegerRange kInt8{-128, 127};

float random_scale(Random& random, int index) {
  if (index % 4 == 0) return std::ldexp(1.0F, static_cast<int>(random.between(-30, 30)));
  if (index % 4 == 1) return random.any_float();
  return random.one_in(8) ? -random.positive_float(-30, 30) : random.positive_float(-30, 30);
}

// x with x / scale at a tie, one step beside it, anywhere, or far outside.
float random_x(Random& random, float scale) {
  if (random.one_in(16)) return random.any_float();
  const double tie = static_cast<double>(random.between(-300, 300)) + 0.5;
  const float x = oracle::rn32(exact(tie) * exact(scale));
  if (!std::isfinite(x)) return random.any_float();
  const std::int64_t step = random.between(-1, 1);
  return step == 0
             ? x
             : std::nextafter(x, step < 0 ? -std::numeric_limits<float>::max() : std::numeric_limits<float>::max());
}

// Rule Q1's rounded quotient leaves ties of its own, so both kinds are counted.
struct QuotientCounts {
  int values = 0;
  int exact_ties = 0;
  int rounded_onto_ties = 0;  // x / scale is no tie, RN32(x / scale) is

  void count(float x, float scale) {
    ++values;
    const mpq_class quotient = exact(x) / exact(scale);
    if (abs(quotient) > 400) return;
    if (oracle::distance_from_tie(quotient) == 0) {
      ++exact_ties;
    } else if (oracle::distance_from_tie(exact(oracle::rn32(quotient))) == 0) {
      ++rounded_onto_ties;
    }
  }
};

void expect_quantized(float x, float scale) {
  // clamp(r + zp) for all zp from one r: the oracle with zero point 0 and bounds that never bind.
  const long rounded = oracle::quantize(exact(x), scale, 0, -1000, 1000);
  for (const IntegerRange range : {kUint8, kInt8}) {
    for (int zero_point = range.lo; zero_point <= range.hi; ++zero_point) {
      const long expected = std::clamp<long>(rounded + zero_point, range.lo, range.hi);
      ASSERT_EQ(quantize(x, scale, zero_point, range), expected)
          << ::testing::PrintToString(x) << " / " << ::testing::PrintToString(scale) << " + " << zero_point;
    }
  }
}

TEST(QuantizeLinear, EqualsTheDefinitionForEveryZeroPoint) {
  const int scales = testing::scaled(100);
  Random random(29);
  QuotientCounts counts;
  for (int s = 0; s < scales; ++s) {
    const float scale = random_scale(random, s);
    for (int i = 0; i < 200; ++i) {
      const float x = random_x(random, scale);
      counts.count(x, scale);
      ASSERT_NO_FATAL_FAILURE(expect_quantized(x, scale));
    }
  }
  RecordProperty("exact_ties", counts.exact_ties);
  RecordProperty("rounded_onto_ties", counts.rounded_onto_ties);
  if (scales < 50) return;  // too few for shares to mean anything
  EXPECT_GE(counts.exact_ties, counts.values / 20);
  EXPECT_GE(counts.rounded_onto_ties, counts.values / 50);
}

TEST(QuantizeLinear, RoundsTheQuotientToFloat32First) {
  // (3 + 2^-22) / (2 + 2^-22) is 1.5 - 2^-24 + ...: below the tie, and rounded onto it.
  const float x = std::nextafter(3.0F, 4.0F);
  const float scale = std::nextafter(2.0F, 3.0F);
  const mpq_class quotient = exact(x) / exact(scale);
  EXPECT_LT(quotient, mpq_class(3, 2));
  EXPECT_EQ(oracle::rne(quotient), 1);
  EXPECT_EQ(quantize(x, scale, 0, kUint8), 2);
}

TEST(QuantizeLinear, RoundsBeforeTheZeroPointIsAdded) {
  EXPECT_EQ(quantize(0.5F, 1.0F, 1, kUint8), 1);
  EXPECT_EQ(quantize(1.5F, 1.0F, 1, kUint8), 3);
  EXPECT_EQ(quantize(-0.5F, 1.0F, 1, kInt8), 1);
}

TEST(QuantizeLinear, SaturatesInfiniteAndHugeQuotients) {
  for (const float x : {kInfinity, std::numeric_limits<float>::max(), 0x1p31F, 0x1p33F}) {
    EXPECT_EQ(quantize(x, 1.0F, 7, kUint8), 255) << x;
    EXPECT_EQ(quantize(-x, 1.0F, 7, kUint8), 0) << x;
    EXPECT_EQ(quantize(x, 0x1p-40F, -7, kInt8), 127) << x;
    EXPECT_EQ(quantize(-x, 0x1p-40F, -7, kInt8), -128) << x;
  }
}

TEST(QuantizeLinear, NanGivesTheZeroPoint) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(quantize(nan, 0.5F, 200, kUint8), 200);
  EXPECT_EQ(quantize(nan, 0.5F, -100, kInt8), -100);
}

// x as [outer 2, channels 3, inner 2]: each channel with its own scale and zero point.
TEST(QuantizeLinear, ParametersBelongToTheirChannel) {
  const QuantizeLinear node{.layout = {.outer = 2, .channels = 3, .inner = 2},
                            .x_type = ElementType::float32,
                            .y_type = ElementType::int8,
                            .y_scale = {1.0F, 0.5F, 4.0F},
                            .y_zero_point = {0, 10, -100}};
  const std::vector<float> x{1, 2, 3, 4, 5, 6, -1, -2, -3, -4, 200, 1000};
  std::vector<std::byte> y(x.size());
  quantize_linear(node, bytes_of(x), y);
  const std::vector<int> expected{1, 2, 16, 18, -99, -98, -1, -2, 4, 2, -50, 127};
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(static_cast<std::int8_t>(y[i]), expected[i]) << i;
}

// int32 x is rounded to float32 first: one of the answers that rule Q6 admits.
TEST(QuantizeLinear, Int32InputIsRoundedToFloat32) {
  const int count = testing::scaled(20'000);
  Random random(31);
  QuantizeLinear node{.layout = {.outer = 1, .channels = 1, .inner = 1},
                      .x_type = ElementType::int32,
                      .y_type = ElementType::uint8,
                      .y_scale = {1.0F},
                      .y_zero_point = {0}};
  for (int i = 0; i < count; ++i) {
    const std::vector<std::int32_t> x{static_cast<std::int32_t>(random.of_any_length(31))};
    const float scale = random.positive_float(-2, 28);
    node.y_scale[0] = scale;
    node.y_zero_point[0] = static_cast<std::int32_t>(random.between(0, 255));
    std::vector<std::byte> y(1);
    quantize_linear(node, bytes_of(x), y);
    const mpq_class rounded = exact(oracle::rn32(mpq_class(x[0])));
    ASSERT_EQ(std::to_integer<long>(y[0]), oracle::quantize(rounded, scale, node.y_zero_point[0], 0, 255))
        << x[0] << " / " << ::testing::PrintToString(scale);
  }
}

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
