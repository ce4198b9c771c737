// The admissible outputs of QuantizeLinear against rationals, for every combination of types.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/tests/test_scale.h"
#include "reference/linear_quantization/quantize_linear.h"
#include "reference/numerics/floats.h"
#include "reference/oracle/definitions.h"
#include "reference/oracle/random_convolution.h"
#include "reference/tests/quantize_sweep.h"
#include "reference/tests/small_float.h"

namespace qconform::reference {
namespace {

using oracle::exact;
using oracle::FormatFacts;
using oracle::members;
using oracle::NumberLine;
using oracle::output_bits;
using oracle::Random;
using oracle::rn;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One way to divide: operands rounded to a type (none: exact), then the quotient rounded to a type.
struct QuantizeWay {
  ElementType operands;
  ElementType quotient;
};

constexpr auto kNone = ElementType::undefined;
constexpr auto kF32 = ElementType::float32;
constexpr auto kF16 = ElementType::float16;
constexpr auto kBf16 = ElementType::bfloat16;
constexpr auto kF64 = ElementType::float64;
constexpr auto kInt32 = ElementType::int32;
constexpr auto kE8m0 = ElementType::float8e8m0;

struct QuantizeArithmetic {
  const char* what;
  int version;
  ElementType x, scale, precision;
  std::vector<QuantizeWay> ways;  // the first is the reference's
  const char* rule;
};

const std::vector<QuantizeArithmetic>& arithmetics() {
  static const std::vector<QuantizeWay> int32_ways{{kF32, kF32}, {kNone, kF64}, {kNone, kNone}};
  static const std::vector<QuantizeArithmetic> all{
      {"Q1 before 23", 10, kF32, kF32, kNone, {{kNone, kF32}, {kNone, kNone}}, "Q1"},
      {"Q1 at 21", 21, kF32, kF32, kNone, {{kNone, kF32}, {kNone, kNone}}, "Q1"},
      {"Q1 from 23", 23, kF32, kF32, kNone, {{kNone, kF32}}, ""},
      {"Q3 before 23", 19, kF16, kF16, kNone, {{kNone, kF16}, {kNone, kF32}, {kNone, kNone}}, "Q3"},
      {"Q3 bfloat16", 21, kBf16, kBf16, kNone, {{kNone, kBf16}, {kNone, kF32}, {kNone, kNone}}, "Q3"},
      {"Q3 from 23", 23, kF16, kF16, kNone, {{kNone, kF16}}, ""},
      {"Q3 bfloat16 from 23", 25, kBf16, kBf16, kNone, {{kNone, kBf16}}, ""},
      {"precision float", 23, kF16, kF16, kF32, {{kNone, kF32}}, ""},
      {"precision float16", 24, kF32, kF32, kF16, {{kF16, kF16}, {kNone, kF16}}, "Q3"},
      {"precision double", 25, kF32, kF32, kF64, {{kNone, kF64}}, ""},
      {"wide x", 25, kF32, kF16, kNone, {{kF16, kF16}, {kNone, kF16}}, "Q3"},
      {"wide scale", 23, kF16, kF32, kNone, {{kNone, kF32}}, ""},
      {"x and scale of 16 bits", 23, kF16, kBf16, kNone, {{kBf16, kBf16}, {kNone, kBf16}}, "Q3"},
      {"Q6", 13, kInt32, kF32, kNone, int32_ways, "Q6"},
      {"Q6 from 23", 24, kInt32, kF32, kNone, int32_ways, "Q6"},
      {"Q6 int32 scale", 19, kInt32, kInt32, kNone, int32_ways, "Q6"},
      {"Q6 in bfloat16",
       23,
       kInt32,
       kBf16,
       kNone,
       {{kBf16, kBf16}, {kF32, kF32}, {kNone, kF64}, {kNone, kNone}, {kNone, kBf16}},
       "Q6"},
      {"scale float8e8m0", 24, kF32, kE8m0, kNone, {{kNone, kF32}, {kNone, kNone}}, "Q3"},
      {"scale float8e8m0 of float16",
       24,
       kF16,
       kE8m0,
       kNone,
       {{kF16, kF16}, {kNone, kF32}, {kNone, kNone}, {kNone, kF16}},
       "Q3"},
  };
  return all;
}

constexpr ElementType kIntegers[] = {ElementType::uint2, ElementType::int2, ElementType::uint4,  ElementType::int4,
                                     ElementType::uint8, ElementType::int8, ElementType::uint16, ElementType::int16};

// The nearest value of a type, as its pattern.
std::uint64_t pattern_of(ElementType type, double value) {
  if (type == kInt32) return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  return encode(float_format(type), value, Overflow::saturate);
}

double random_scale(Random& random, const QuantizeArithmetic& a) {
  if (a.scale == kE8m0) return std::ldexp(1.0, static_cast<int>(random.between(-10, 3)));
  if (a.scale == kInt32) return static_cast<double>(random.between(1, 5000));
  // Large scales take large integers: those whose quotients lie close to ties.
  const int shift = a.x == kInt32 ? 14 : 0;
  return rounded_to(float_format(a.scale), static_cast<double>(random.positive_float(-8 + shift, 4 + shift)));
}

// x with x / scale next to an integer or a tie that y's range makes visible.
double random_x(Random& random, const QuantizeArithmetic& a, double scale, IntegerRange range) {
  const auto reach = std::min<std::int64_t>(range.hi - range.lo, 30000) + 4;
  const double halves = static_cast<double>(random.between(-2 * reach, 2 * reach)) / 2;
  const double limit = a.x == kInt32 ? 0x1p30 : 60000;
  const double x = std::clamp(halves * scale, -limit, limit);
  const std::uint64_t bits = pattern_of(a.x, x);
  const std::uint64_t nudge = static_cast<std::uint64_t>(random.between(-1, 1));
  const std::uint64_t mask = (std::uint64_t{1} << bits_of(a.x)) - 1;
  const double nudged = value_of(a.x, (bits + nudge) & mask);
  return std::isfinite(nudged) && std::fabs(nudged) < 2 * limit ? nudged : value_of(a.x, bits);
}

mpz_class quantized(const mpq_class& quotient, std::int32_t zero_point, IntegerRange range) {
  const mpz_class value = oracle::rne(quotient) + zero_point;
  return std::clamp<mpz_class>(value, range.lo, range.hi);
}

std::uint64_t stored(const mpz_class& value, ElementType type) {
  return static_cast<std::uint64_t>(value.get_si()) & ((std::uint64_t{1} << bits_of(type)) - 1);
}

QuantizeLinear node_of(const QuantizeArithmetic& a, ElementType y_type, double scale, std::int32_t zero_point) {
  QuantizeLinear node;
  node.x_type = a.x;
  node.scale_type = a.scale;
  node.y_type = y_type;
  node.precision = a.precision;
  node.version = a.version;
  node.y_scale = {scale};
  node.y_zero_point = {zero_point};
  return node;
}

std::uint64_t reference_output(const QuantizeLinear& node, std::uint64_t x_bits) {
  return output_bits(node, x_bits, quantize_linear);
}

TEST(AdmissibleQuantize, IsWhatTheRulesList) {
  Random random(67);
  const int count = testing::scaled(1000);
  for (const QuantizeArithmetic& a : arithmetics()) {
    int open = 0;
    for (int i = 0; i < count; ++i) {
      const ElementType y_type = kIntegers[static_cast<std::size_t>(random.between(0, 7))];
      const IntegerRange range = range_of(y_type);
      const auto zero_point = static_cast<std::int32_t>(random.between(range.lo, range.hi));
      const double scale = random_scale(random, a);
      const double x = random_x(random, a, scale, range);
      const QuantizeLinear node = node_of(a, y_type, scale, zero_point);
      std::set<std::uint64_t> expected;
      for (const QuantizeWay& way : a.ways) {
        const mpq_class quotient = rn(way.quotient, rn(way.operands, exact(x)) / rn(way.operands, exact(scale)));
        expected.insert(stored(quantized(quotient, zero_point, range), y_type));
      }
      const QuantizeWay& first = a.ways.front();
      const mpq_class quotient = rn(first.quotient, rn(first.operands, exact(x)) / rn(first.operands, exact(scale)));
      const std::uint64_t x_bits = pattern_of(a.x, x);
      const RightValues got = admissible_quantize(node, x_bits, 0, Wording::onnx);
      ASSERT_EQ(members(got), expected) << a.what << ": " << x << " / " << scale;
      ASSERT_FALSE(got.any_value || got.any_nan || got.either_zero);
      ASSERT_EQ(got.ranges.front().lo, stored(quantized(quotient, zero_point, range), y_type)) << a.what;
      ASSERT_EQ(reference_output(node, x_bits), got.ranges.front().lo) << a.what << ": " << x << " / " << scale;
      ASSERT_STREQ(got.rule, expected.size() > 1 ? a.rule : "") << a.what;
      if (expected.size() > 1) ++open;
    }
    // The data must show that the arithmetics differ if they can.
    if (count >= 1000 && a.ways.size() > 1 && a.scale != kE8m0 && a.scale != kInt32) {
      EXPECT_GT(open, 0) << a.what;
    }
  }
}

TEST(AdmissibleQuantize, FloatOutputsAreTheNearestNumbers) {
  Random random(71);
  const int count = testing::scaled(4000);
  for (const FormatFacts& format : oracle::small_formats()) {
    if (bits_of(format.type) > 8 || !format.has_sign) continue;
    const NumberLine line(format);
    for (const QuantizeArithmetic& a : arithmetics()) {
      if (a.version < 23 || a.ways.size() != 1 || a.precision == kF64) continue;
      for (int i = 0; i < count / 4; ++i) {
        const double scale = random_scale(random, a);
        const double x = rounded_to(float_format(a.x), static_cast<double>(random.positive_float(-12, 15)));
        if (!std::isfinite(x)) continue;
        QuantizeLinear node = node_of(a, format.type, scale, 0);
        node.saturate = random.one_in(2);
        const mpq_class quotient = rn(a.ways[0].quotient, exact(x) / exact(scale));
        if (quotient > 1'000'000) continue;
        const std::uint64_t expected = expected_pattern(format, line, quotient.get_d(), node.saturate);
        const std::uint64_t x_bits = pattern_of(a.x, x);
        ASSERT_EQ(reference_output(node, x_bits), expected) << format.name << ": " << x << " / " << scale;
        ASSERT_TRUE(admissible_quantize(node, x_bits, 0, Wording::onnx).contains(expected));
      }
    }
  }
}

const QuantizeArithmetic kPlain{"", 23, kF32, kF32, kNone, {}, ""};

RightValues set_for(double x, double scale, ElementType y_type, int version, Wording wording = Wording::onnx,
                    bool saturate = true, std::int32_t zero_point = 0) {
  QuantizeLinear node = node_of(kPlain, y_type, scale, zero_point);
  node.version = version;
  node.saturate = saturate;
  return admissible_quantize(node, encode(float_format(kF32), x, Overflow::special), 0, wording);
}

TEST(AdmissibleQuantize, NanGivesAnyIntegerAndNanForFloat8) {
  const RightValues integer = set_for(std::nan(""), 1, ElementType::int8, 23);
  EXPECT_TRUE(integer.any_value);
  EXPECT_STREQ(integer.rule, "Q5");
  const RightValues float8 = set_for(std::nan(""), 1, ElementType::float8e5m2, 23);
  for (const std::uint64_t nan : {0x7DU, 0x7EU, 0x7FU, 0xFDU, 0xFEU, 0xFFU}) EXPECT_TRUE(float8.contains(nan));
  for (const std::uint64_t number : {0U, 0x7BU, 0x7CU, 0xFCU}) EXPECT_FALSE(float8.contains(number));
  EXPECT_TRUE(set_for(std::nan(""), 1, ElementType::float4e2m1, 23).any_value) << "it has no NaN";
  EXPECT_TRUE(set_for(1, 0, ElementType::uint8, 23).any_value) << "C21";
}

TEST(AdmissibleQuantize, InfinitiesAndHugeQuotientsSaturate) {
  for (const double x : {kInfinity, 0x1p31, 0x1p63, 0x1p100}) {
    for (const int version : {10, 23}) {
      EXPECT_EQ(members(set_for(x, 1, ElementType::int16, version)), std::set<std::uint64_t>{0x7FFF}) << x;
      EXPECT_EQ(members(set_for(-x, 1, ElementType::int16, version)), std::set<std::uint64_t>{0x8000}) << x;
      EXPECT_EQ(members(set_for(x, 0x1p-100, ElementType::uint2, version)), std::set<std::uint64_t>{3}) << x;
    }
  }
}

TEST(AdmissibleQuantize, FollowsTheTablesOfFloat8) {
  EXPECT_EQ(members(set_for(kInfinity, 1, ElementType::float8e4m3fn, 19)), std::set<std::uint64_t>{0x7E});
  EXPECT_EQ(members(set_for(-kInfinity, 1, ElementType::float8e5m2, 19)), std::set<std::uint64_t>{0xFB});
  EXPECT_EQ(members(set_for(464.001, 1, ElementType::float8e4m3fn, 23, Wording::onnx, false)),
            std::set<std::uint64_t>{0x7F});
  EXPECT_EQ(members(set_for(464, 1, ElementType::float8e4m3fn, 23, Wording::onnx, false)),
            std::set<std::uint64_t>{0x7E});
  EXPECT_EQ(members(set_for(-61440, 1, ElementType::float8e5m2, 23, Wording::onnx, false)),
            std::set<std::uint64_t>{0xFC});
  // Infinity to the formats without a negative zero: NaN before version 24, or the largest number.
  const RightValues before = set_for(kInfinity, 1, ElementType::float8e4m3fnuz, 21);
  EXPECT_TRUE(before.contains(0x7F) && before.contains(0x80));
  EXPECT_STREQ(before.rule, "Q8");
  const RightValues after = set_for(kInfinity, 1, ElementType::float8e4m3fnuz, 24);
  EXPECT_TRUE(after.contains(0x7F) && !after.contains(0x80));
  EXPECT_FALSE(set_for(1e6, 1, ElementType::float8e4m3fnuz, 21).contains(0x80)) << "finite: no NaN";
}

TEST(AdmissibleQuantize, ZeroKeepsItsSignOrLosesItToTheZeroPoint) {
  const RightValues zero = set_for(-0.0, 1, ElementType::float8e4m3fn, 23);
  EXPECT_TRUE(zero.contains(0x80) && zero.contains(0));
  EXPECT_FALSE(set_for(0.0, 1, ElementType::float8e4m3fn, 23).contains(0x80));
  EXPECT_FALSE(set_for(-1e-9, 1, ElementType::float8e4m3fn, 23).contains(0)) << "rounded to -0, not equal to it";
}

TEST(AdmissibleQuantize, DirectmlTakesReciprocalsAndEitherNeighbourOfATie) {
  EXPECT_EQ(members(set_for(2.5, 1, ElementType::uint8, 13, Wording::directml)), (std::set<std::uint64_t>{2, 3}));
  EXPECT_EQ(members(set_for(-2.5, 1, ElementType::int8, 13, Wording::directml)), (std::set<std::uint64_t>{0xFD, 0xFE}));
  EXPECT_EQ(members(set_for(2.5, 1, ElementType::uint8, 13)), std::set<std::uint64_t>{2});
  int beyond = 0;
  Random random(73);
  for (int i = 0; i < 2000; ++i) {
    const auto scale = static_cast<double>(random.positive_float(-4, 4));
    const double x = oracle::rn32(exact(static_cast<double>(random.between(0, 200)) + 0.5) * exact(scale));
    const RightValues onnx = set_for(x, scale, ElementType::uint8, 23);
    const RightValues directml = set_for(x, scale, ElementType::uint8, 23, Wording::directml);
    for (const std::uint64_t member : members(onnx)) ASSERT_TRUE(directml.contains(member));
    const float reciprocal = oracle::rn32(1 / exact(scale));
    const float product = oracle::rn32(exact(x) * exact(static_cast<double>(reciprocal)));
    const auto by_reciprocal =
        static_cast<std::uint64_t>(quantized(exact(static_cast<double>(product)), 0, {0, 255}).get_si());
    ASSERT_TRUE(directml.contains(by_reciprocal));
    if (!onnx.contains(by_reciprocal)) ++beyond;
  }
  EXPECT_GT(beyond, 0);
}

TEST(AdmissibleQuantize, AScaleThatThePrecisionCannotHoldStaysItself) {
  QuantizeLinear node = node_of(kPlain, ElementType::uint8, 0x1p-40, 5);
  node.precision = kF16;
  EXPECT_EQ(members(admissible_quantize(node, 0, 0, Wording::onnx)), std::set<std::uint64_t>{5}) << "0 / 2^-40";
  EXPECT_FALSE(admissible_quantize(node, 0, 0, Wording::onnx).any_value);
}

// x [2, 3] in blocks of 2 along the last axis: scale [2, 2], the last block partial.
TEST(QuantizeLinearBlocks, EveryBlockHasItsParameters) {
  QuantizeLinear node = node_of(kPlain, ElementType::int4, 1, 0);
  node.layout = {.outer = 2, .channels = 3, .inner = 1, .block = 2};
  node.y_scale = {1, 0.5, 2, 0.25};
  node.y_zero_point = {0, 1, -1, 2};
  const std::vector<float> x{1, 2, 3, 4, 5, 1};
  std::vector<std::byte> y(3);
  quantize_linear(node, std::as_bytes(std::span(x)), y);
  const std::vector<int> expected{1, 2, 7, 1, 1, 6};
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(load_bits(y, 4, i), static_cast<std::uint64_t>(expected[static_cast<std::size_t>(i)])) << i;
  }
}

TEST(QuantizeLinearBlocks, UnusedBitsOfTheLastByteAreZero) {
  QuantizeLinear node = node_of(kPlain, ElementType::int2, 1, 0);
  node.layout.inner = 5;
  const std::vector<float> x{-1, -1, -1, -1, -1};
  std::vector<std::byte> y(2, std::byte{0xAA});
  quantize_linear(node, std::as_bytes(std::span(x)), y);
  EXPECT_EQ(y, (std::vector<std::byte>{std::byte{0xFF}, std::byte{0x03}}));
}

}  // namespace
}  // namespace qconform::reference
