// The admissible outputs of DequantizeLinear against rationals, for every combination of types.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "harness/tests/test_scale.h"
#include "reference/linear_quantization/dequantize_linear.h"
#include "reference/numerics/floats.h"
#include "reference/oracle/definitions.h"
#include "reference/oracle/random_convolution.h"
#include "reference/tests/quantize_sweep.h"
#include "reference/tests/small_float.h"

namespace qconform::reference {
namespace {

using oracle::exact;
using oracle::line_of;
using oracle::members;
using oracle::output_bits;
using oracle::Random;
using oracle::rn;

constexpr auto kF32 = ElementType::float32;
constexpr auto kF16 = ElementType::float16;
constexpr auto kBf16 = ElementType::bfloat16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The pattern of RN(value); a zero has the sign given.
std::uint64_t rn_bits(ElementType type, const mpq_class& value, bool negative_zero) {
  if (type == kF32) {
    const float rounded = value == 0 && negative_zero ? -0.0F : oracle::rn32(value);
    return std::bit_cast<std::uint32_t>(rounded);
  }
  const bool negative = value < 0 || (value == 0 && negative_zero);
  return (negative ? 0x8000U : 0U) | line_of(type).nearest(mpq_class(abs(value)));
}

// One way to multiply: difference and scale rounded to types, and the product to a type before the
// output's (none: exact).
struct DequantizeWay {
  ElementType difference, scale, product;
};

constexpr DequantizeWay kOnce{ElementType::undefined, ElementType::undefined, ElementType::undefined};

struct DequantizeArithmetic {
  const char* what;
  int version;
  std::vector<ElementType> x;
  ElementType scale, y;
  std::vector<DequantizeWay> ways;  // the first is the reference's
  const char* rule;
};

const std::vector<DequantizeArithmetic>& arithmetics() {
  constexpr auto kNone = ElementType::undefined;
  static const std::vector<ElementType> small{
      ElementType::uint2,        ElementType::int2,           ElementType::uint4,      ElementType::int4,
      ElementType::uint8,        ElementType::int8,           ElementType::uint16,     ElementType::int16,
      ElementType::float8e4m3fn, ElementType::float8e4m3fnuz, ElementType::float8e5m2, ElementType::float8e5m2fnuz,
      ElementType::float4e2m1};
  static const std::vector<ElementType> int32{ElementType::int32};
  static const std::vector<DequantizeArithmetic> all{
      {"D1", 13, small, kF32, kF32, {kOnce}, ""},
      {"D1 from a float16 scale", 23, small, kF16, kF32, {kOnce}, ""},
      {"D1 from a float8e8m0 scale", 25, small, ElementType::float8e8m0, kF32, {kOnce}, ""},
      {"D2 before 23", 10, int32, kF32, kF32, {{kF32, kNone, kNone}, kOnce}, "D2"},
      {"D2 from 23", 23, int32, kF32, kF32, {{kF32, kNone, kNone}}, ""},
      {"D4", 19, small, kF16, kF16, {kOnce, {kF16, kNone, kNone}, {kNone, kNone, kF32}}, "D4"},
      {"D4 bfloat16", 21, small, kBf16, kBf16, {kOnce, {kBf16, kNone, kNone}, {kNone, kNone, kF32}}, "D4"},
      {"D4 from 23", 23, small, kF16, kF16, {kOnce, {kF16, kNone, kNone}}, "D4"},
      {"D4 wide scale", 23, small, kF32, kBf16, {kOnce, {kBf16, kNone, kNone}, {kBf16, kBf16, kNone}}, "D4"},
      {"D4 float8e8m0 scale", 24, small, ElementType::float8e8m0, kBf16, {kOnce, {kBf16, kNone, kNone}}, "D4"},
      {"D4 and D2", 21, int32, kBf16, kBf16, {kOnce, {kBf16, kNone, kNone}, {kF32, kNone, kF32}}, "D4"},
  };
  return all;
}

double random_scale(Random& random, ElementType type) {
  if (type == ElementType::float8e8m0) return std::ldexp(1.0, static_cast<int>(random.between(-8, -2)));
  const double scale = rounded_to(float_format(type), static_cast<double>(random.positive_float(-8, -3)));
  return random.one_in(8) ? -scale : scale;
}

DequantizeLinear node_of(const DequantizeArithmetic& a, ElementType x, double scale, double zero_point) {
  DequantizeLinear node;
  node.x_type = x;
  node.scale_type = a.scale;
  node.y_type = a.y;
  node.version = a.version;
  node.x_scale = {scale};
  node.x_zero_point = {zero_point};
  return node;
}

std::uint64_t reference_output(const DequantizeLinear& node, std::uint64_t x_bits) {
  return output_bits(node, x_bits, dequantize_linear);
}

std::set<std::uint64_t> expected_members(const DequantizeArithmetic& a, double difference, double scale) {
  const bool negative_zero = std::signbit(difference) != std::signbit(scale);
  std::set<std::uint64_t> expected;
  for (const DequantizeWay& way : a.ways) {
    const mpq_class product = rn(way.difference, exact(difference)) * rn(way.scale, exact(scale));
    expected.insert(rn_bits(a.y, rn(way.product, product), negative_zero));
  }
  return expected;
}

// A zero point that the type allows: 0 but for integers of at most 16 bits.
double random_zero_point(Random& random, ElementType type) {
  if (!is_integer(type) || type == ElementType::int32) return 0;
  const IntegerRange range = range_of(type);
  return static_cast<double>(random.between(range.lo, range.hi));
}

TEST(AdmissibleDequantize, IsWhatTheRulesList) {
  Random random(79);
  const int count = testing::scaled(400);
  for (const DequantizeArithmetic& a : arithmetics()) {
    int open = 0;
    for (const ElementType type : a.x) {
      for (int i = 0; i < count; ++i) {
        // Every pattern of the short types, any of the longer ones.
        const auto drawn = static_cast<std::uint64_t>(random.between(0, UINT32_MAX));
        const std::uint64_t x_bits = drawn & ((std::uint64_t{1} << bits_of(type)) - 1);
        const double x = value_of(type, x_bits);
        if (!std::isfinite(x)) continue;
        const double scale = random_scale(random, a.scale);
        const double zero_point = random_zero_point(random, type);
        if (a.y == kF16 && std::fabs((x - zero_point) * scale) > 60000) continue;
        const DequantizeLinear node = node_of(a, type, scale, zero_point);
        const RightValues got = admissible_dequantize(node, x_bits, 0, Wording::onnx);
        const std::set<std::uint64_t> expected = expected_members(a, x - zero_point, scale);
        const std::set<std::uint64_t> listed = members(got);
        ASSERT_TRUE(std::includes(listed.begin(), listed.end(), expected.begin(), expected.end())) << a.what;
        const bool is_subnormal = std::fabs(x - zero_point) * std::fabs(scale) < 0x1p-14 && a.y == kF16;
        if (!is_subnormal) {
          ASSERT_EQ(listed, expected) << a.what << ": (" << x << " - " << zero_point << ") * " << scale;
        }
        ASSERT_EQ(reference_output(node, x_bits), got.ranges.front().lo) << a.what;
        if (!is_subnormal) {
          const bool has_either_zero = x == zero_point && scale < 0;
          ASSERT_STREQ(got.rule, expected.size() > 1 ? a.rule : has_either_zero ? "D5" : "") << a.what;
        }
        if (expected.size() > 1) ++open;
      }
    }
    // float8e8m0 scales multiply exactly.
    if (count >= 400 && a.ways.size() > 1 && a.scale != ElementType::float8e8m0) {
      EXPECT_GT(open, 0) << a.what;
    }
  }
}

const DequantizeArithmetic kPlain{"", 23, {}, kF32, kF32, {}, ""};

RightValues set_for(ElementType type, std::uint64_t x_bits, double scale, double zero_point = 0,
                    Wording wording = Wording::onnx) {
  return admissible_dequantize(node_of(kPlain, type, scale, zero_point), x_bits, 0, wording);
}

std::uint64_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// 31957 * 0x1.C18p-5 lies 2^-14 below the tie between 1753 and 1754; in float32 it is that tie.
TEST(AdmissibleDequantize, AProductMayGoThroughFloat32BeforeVersion23) {
  const auto set_at = [](int version) {
    DequantizeLinear node = node_of(kPlain, ElementType::uint16, 0x1.C18p-5, 0);
    node.scale_type = node.y_type = kF16;
    node.version = version;
    return members(admissible_dequantize(node, 31957, 0, Wording::onnx));
  };
  constexpr std::uint64_t k1753 = 0x66D9;
  EXPECT_EQ(set_at(21), (std::set<std::uint64_t>{k1753, k1753 + 1}));
  EXPECT_EQ(set_at(23), (std::set<std::uint64_t>{k1753}));
}

TEST(AdmissibleDequantize, ZerosHaveTheSignOfTheProduct) {
  EXPECT_EQ(members(set_for(ElementType::uint8, 7, 0.5, 7)), std::set{bits(0.0F)}) << "D5";
  const RightValues negative = set_for(ElementType::uint8, 7, -0.5, 7);
  EXPECT_EQ(members(negative), std::set{bits(-0.0F)}) << "D5: the formula's";
  EXPECT_TRUE(negative.contains(bits(0.0F))) << "D5: either zero at a negative scale";
  EXPECT_STREQ(negative.rule, "D5");
  EXPECT_FALSE(set_for(ElementType::uint8, 7, 0.5, 7).contains(bits(-0.0F))) << "D5: one zero at a positive scale";
  EXPECT_FALSE(set_for(ElementType::uint8, 8, -0.5, 7).contains(bits(-0.0F))) << "D5: of zeros alone";
  EXPECT_EQ(members(set_for(ElementType::float8e4m3fn, 0x80, 0.5)), std::set{bits(-0.0F)}) << "float8 keeps its sign";
  EXPECT_EQ(members(set_for(ElementType::int8, 3, 0)), std::set{bits(0.0F)}) << "D6";
  EXPECT_EQ(members(set_for(ElementType::int8, 0xFD, 0)), std::set{bits(-0.0F)}) << "D6";
  const RightValues directml = set_for(ElementType::uint8, 7, 0.5, 7, Wording::directml);
  EXPECT_TRUE(directml.contains(bits(0.0F)) && directml.contains(bits(-0.0F)));
}

TEST(AdmissibleDequantize, SubnormalsMayBeFlushed) {
  const RightValues scale = set_for(ElementType::uint8, 200, 0x1p-127);
  EXPECT_EQ(members(scale), (std::set{bits(200 * 0x1p-127F), bits(0.0F)})) << "a normal product of a subnormal scale";
  EXPECT_STREQ(scale.rule, "D6");
  const RightValues product = set_for(ElementType::float8e4m3fn, 0x81, 0x1p-120);
  EXPECT_EQ(members(product), (std::set{bits(-0x1p-129F), bits(-0.0F)}));
  EXPECT_EQ(members(set_for(ElementType::uint8, 200, 0x1p-126)), std::set{bits(200 * 0x1p-126F)});
}

// An arithmetic that takes a subnormal scale as zero multiplies infinity by zero.
TEST(AdmissibleDequantize, AnInfinityTimesAFlushedScaleIsNoNumber) {
  constexpr std::uint64_t kE5m2Infinity = 0x7C;
  const RightValues set = set_for(ElementType::float8e5m2, kE5m2Infinity, 0x1p-127);
  EXPECT_TRUE(set.contains(bits(std::numeric_limits<float>::infinity())));
  EXPECT_TRUE(set.contains(0x7FC00000) && set.contains(0xFFC00001));
  EXPECT_FALSE(set.contains(bits(0.0F)));
  EXPECT_STREQ(set.rule, "D6");
  EXPECT_FALSE(set_for(ElementType::float8e5m2, kE5m2Infinity, 0x1p-126).contains(0x7FC00000)) << "a normal scale";
}

TEST(AdmissibleDequantize, OddScalesFollowIeee) {
  EXPECT_EQ(members(set_for(ElementType::int8, 0xFF, kInfinity)),
            std::set{bits(-std::numeric_limits<float>::infinity())});
  for (const RightValues& nan : {set_for(ElementType::int8, 0, kInfinity), set_for(ElementType::int8, 1, std::nan("")),
                                 set_for(ElementType::float8e4m3fn, 0x7F, 1)}) {
    EXPECT_TRUE(nan.contains(0x7FC00000) && nan.contains(0xFFC00001) && !nan.contains(0x7F800000));
  }
  EXPECT_EQ(members(set_for(ElementType::float8e5m2, 0xFC, 0.5)),
            std::set{bits(-std::numeric_limits<float>::infinity())});
}

TEST(AdmissibleDequantize, AZeroPointOfFloat4CountsOrDoesNot) {
  // 6 - 1.5 and 6.
  EXPECT_EQ(members(set_for(ElementType::float4e2m1, 7, 2, 1.5)), (std::set{bits(9.0F), bits(12.0F)}));
  EXPECT_STREQ(set_for(ElementType::float4e2m1, 7, 2, 1.5).rule, "D3");
}

TEST(AdmissibleDequantize, AZeroPointOfInt32IsSubtractedInSomeWidth) {
  EXPECT_EQ(members(set_for(ElementType::int32, 7, 2, 3)), std::set{bits(8.0F)});
  // 2^31 - 1 less -1: -2^31 in 32 bits, 2^31 in more.
  const RightValues set = set_for(ElementType::int32, INT32_MAX, 1, -1);
  EXPECT_EQ(members(set), (std::set{bits(-0x1p31F), bits(0x1p31F)}));
  EXPECT_STREQ(set.rule, "D3");
  EXPECT_EQ(reference_output(node_of(kPlain, ElementType::int32, 1, -1), INT32_MAX), bits(-0x1p31F));
}

TEST(AdmissibleDequantize, AZeroPointOfFloat8Counts) {
  constexpr std::uint64_t kTwo = 0x40;  // 2 in e4m3fn
  EXPECT_EQ(members(set_for(ElementType::float8e4m3fn, kTwo, 0.5, 1.5)), std::set{bits(0.25F)});
  EXPECT_TRUE(set_for(ElementType::float8e4m3fn, kTwo, 0.5, std::nan("")).contains(0x7FC00000));
  constexpr std::uint64_t kInfinite = 0x7C;  // infinity in e5m2
  EXPECT_TRUE(set_for(ElementType::float8e5m2, kInfinite, 1, kInfinity).contains(0x7FC00000))
      << "infinity less infinity";
}

// 57344 - 2^-16 has 32 bits: the product is that of the exact difference, or of the one that float32 holds.
TEST(AdmissibleDequantize, ADifferenceOfFloat8MayNotFitFloat32) {
  constexpr std::uint64_t kLargest = 0x7B;  // the largest number of e5m2
  const DequantizeLinear node = node_of(kPlain, ElementType::float8e5m2, static_cast<double>(0.1F), 0x1p-16);
  const RightValues set = admissible_dequantize(node, kLargest, 0, Wording::onnx);
  EXPECT_EQ(set.ranges.front().lo, reference_output(node, kLargest));
  EXPECT_TRUE(set.contains(bits(oracle::rn32(exact(57344 - 0x1p-16) * exact(static_cast<double>(0.1F))))));
  EXPECT_TRUE(set.contains(bits(57344 * 0.1F)));
}

TEST(AdmissibleDequantize, DirectmlSubtractsInIntegersOrInFloats) {
  // 2^24 + 1 and 1: 2^24 in integers, RN32(2^24 - 1) in floats.
  const RightValues set = set_for(ElementType::int32, (1U << 24) + 1, 1, 1, Wording::directml);
  EXPECT_EQ(members(set), (std::set{bits(0x1p24F), bits(0x1p24F - 1)}));
  EXPECT_EQ(reference_output(node_of(kPlain, ElementType::int32, 1, 1), (1U << 24) + 1), bits(0x1p24F));
  EXPECT_EQ(members(set_for(ElementType::int32, (1U << 24) + 1, 1, 1)), std::set{bits(0x1p24F)});
}

// A scale beyond float16's range: rounded first it is infinite, and 0 times it no number.
TEST(AdmissibleDequantize, AScaleThatTheOutputCannotHoldLeavesZeroZero) {
  DequantizeLinear node = node_of(kPlain, ElementType::int8, 1e6, 0);
  node.y_type = kF16;
  EXPECT_EQ(members(admissible_dequantize(node, 0, 0, Wording::onnx)), std::set<std::uint64_t>{0});
  EXPECT_EQ(members(admissible_dequantize(node, 1, 0, Wording::onnx)), std::set<std::uint64_t>{0x7C00});
}

// x [1, 5] uint4 in blocks of 2.
TEST(DequantizeLinearBlocks, PackedElementsFindTheirBlock) {
  DequantizeLinear node = node_of(kPlain, ElementType::uint4, 1, 0);
  node.layout = {.outer = 1, .channels = 5, .inner = 1, .block = 2};
  node.x_scale = {1, 10, 100};
  node.x_zero_point = {0, 1, 2};
  const std::vector<std::byte> x{std::byte{0x21}, std::byte{0x43}, std::byte{0x0F}};
  std::vector<float> y(5);
  dequantize_linear(node, x, std::as_writable_bytes(std::span(y)));
  EXPECT_EQ(y, (std::vector<float>{1, 2, 20, 30, 1300}));
}

}  // namespace
}  // namespace qconform::reference
