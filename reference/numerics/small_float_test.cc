#include "reference/numerics/floats.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "harness/tests/test_scale.h"
#include "reference/oracle/definitions.h"
#include "reference/oracle/random_convolution.h"
#include "reference/tests/small_float.h"

namespace qconform::reference {
namespace {

using oracle::expected_pattern;
using oracle::FormatFacts;
using oracle::NumberLine;
using oracle::small_formats;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Overflow kOverflows[] = {Overflow::special, Overflow::saturate};

bool states_nan(const FormatFacts& format, std::uint64_t bits) {
  const bool nan_has_sign = format.has_sign && format.has_negative_zero;
  const std::uint64_t sign_bit = std::uint64_t{1} << (format.exponent_bits + format.mantissa_bits);
  const std::uint64_t pattern = nan_has_sign ? bits & ~sign_bit : bits;
  return std::find(format.nans.begin(), format.nans.end(), static_cast<int>(pattern)) != format.nans.end();
}

TEST(SmallFloat, EveryPatternDecodesToItsDefinition) {
  for (const FormatFacts& format : small_formats()) {
    const FloatFormat& f = float_format(format.type);
    const std::uint64_t sign_bit = std::uint64_t{1} << (format.exponent_bits + format.mantissa_bits);
    ASSERT_EQ(f.bits(), bits_of(format.type)) << format.name;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << f.bits(); ++bits) {
      const double value = decode(f, bits);
      ASSERT_EQ(is_nan(f, bits), states_nan(format, bits)) << format.name << " " << bits;
      ASSERT_EQ(std::isnan(value), states_nan(format, bits)) << format.name << " " << bits;
      if (std::isnan(value)) continue;
      const bool is_negative = format.has_sign && (bits & sign_bit) != 0;
      ASSERT_EQ(std::signbit(value), is_negative) << format.name << " " << bits;
      ASSERT_EQ(is_zero(f, bits), value == 0) << format.name << " " << bits;
      const bool is_infinity = format.infinity >= 0 && (bits & ~sign_bit) == static_cast<unsigned>(format.infinity);
      ASSERT_EQ(std::isinf(value), is_infinity) << format.name << " " << bits;
      if (!is_infinity) {
        ASSERT_EQ(oracle::exact(value), definition(format, bits)) << format.name << " " << bits;
      }
    }
  }
}

TEST(SmallFloat, LimitsAreThoseOfTheDocuments) {
  for (const FormatFacts& format : small_formats()) {
    const FloatFormat& f = float_format(format.type);
    EXPECT_EQ(decode(f, f.largest()), format.largest) << format.name;
    EXPECT_EQ(decode(f, format.has_sign ? 1 : 0), format.smallest) << format.name;
  }
}

TEST(SmallFloat, NumbersEncodeToThemselves) {
  for (const FormatFacts& format : small_formats()) {
    const FloatFormat& f = float_format(format.type);
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << f.bits(); ++bits) {
      const double value = decode(f, bits);
      if (!std::isfinite(value)) continue;
      for (const Overflow overflow : kOverflows) ASSERT_EQ(encode(f, value, overflow), bits) << format.name;
    }
  }
}

void expect_encoded(const FormatFacts& format, const NumberLine& line, double value) {
  for (const Overflow overflow : kOverflows) {
    const std::uint64_t got = encode(float_format(format.type), value, overflow);
    const std::uint64_t expected = expected_pattern(format, line, value, overflow == Overflow::saturate);
    if (std::isnan(value) && states_nan(format, got) && states_nan(format, expected)) continue;
    ASSERT_EQ(got, expected) << format.name << " from " << ::testing::PrintToString(value);
  }
}

std::vector<const FormatFacts*> formats_with_sign() {
  std::vector<const FormatFacts*> formats;
  for (const FormatFacts& format : small_formats()) {
    if (format.has_sign) formats.push_back(&format);
  }
  return formats;
}

// Every value between numbers that could go wrong: the midpoints, and the doubles and floats beside.
TEST(SmallFloat, NeighboursOfEveryMidpointRoundToNearestEven) {
  for (const FormatFacts* format : formats_with_sign()) {
    const NumberLine line(*format);
    for (const double midpoint : line.midpoints()) {
      const auto single = static_cast<float>(midpoint);
      for (const double magnitude :
           {midpoint, std::nextafter(midpoint, 0.0), std::nextafter(midpoint, kInfinity),
            static_cast<double>(std::nextafter(single, 0.0F)),
            static_cast<double>(std::nextafter(single, std::numeric_limits<float>::infinity()))}) {
        ASSERT_NO_FATAL_FAILURE(expect_encoded(*format, line, magnitude));
        ASSERT_NO_FATAL_FAILURE(expect_encoded(*format, line, -magnitude));
      }
    }
    for (const double special : {0.0, -0.0, kInfinity, -kInfinity, std::nan(""), 1e300, -1e300, 1e-300, -1e-300}) {
      ASSERT_NO_FATAL_FAILURE(expect_encoded(*format, line, special));
    }
  }
}

TEST(SmallFloat, EveryFloat16GoesToEveryFormatOfEightBitsOrFewer) {
  const FloatFormat& float16 = float_format(ElementType::float16);
  for (const FormatFacts* format : formats_with_sign()) {
    if (bits_of(format->type) > 8) continue;
    const NumberLine line(*format);
    for (std::uint64_t bits = 0; bits < 0x10000; ++bits) {
      ASSERT_NO_FATAL_FAILURE(expect_encoded(*format, line, decode(float16, bits)));
    }
  }
}

TEST(SmallFloat, SampledFloat32RoundsToNearestEven) {
  oracle::Random random(53);
  const int count = testing::scaled(200'000);
  for (const FormatFacts* format : formats_with_sign()) {
    const NumberLine line(*format);
    for (int i = 0; i < count; ++i) ASSERT_NO_FATAL_FAILURE(expect_encoded(*format, line, random.any_float()));
  }
}

// A quotient's distance from a midpoint may be below a double's precision: rounding it to double first
// gives another answer.
TEST(SmallFloat, QuotientsAndProductsAreRoundedOnce) {
  oracle::Random random(59);
  const int count = testing::scaled(20'000);
  int doubly_rounded = 0;
  for (const FormatFacts* format : formats_with_sign()) {
    const NumberLine line(*format);
    const FloatFormat& f = float_format(format->type);
    for (int i = 0; i < count; ++i) {
      const double divisor = oracle::rn64(1 / oracle::exact(random.positive_float(-10, 10)));
      const auto choice = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(line.overflow()) - 1));
      const double dividend = oracle::rn64(oracle::exact(line.midpoints()[choice]) * oracle::exact(divisor));
      const mpq_class quotient = oracle::exact(dividend) / oracle::exact(divisor);
      const std::uint64_t expected = line.nearest(quotient);
      const std::uint64_t got = encode(f, quotient_of(dividend, divisor), Overflow::special);
      if (expected == line.overflow()) continue;
      ASSERT_EQ(got, expected) << format->name;
      if (line.nearest(dividend / divisor) != expected) ++doubly_rounded;
      const mpq_class product = oracle::exact(dividend) * oracle::exact(divisor);
      if (line.nearest(product) == line.overflow()) continue;
      ASSERT_EQ(encode(f, product_of(-dividend, -divisor), Overflow::special), line.nearest(product)) << format->name;
    }
  }
  if (count >= 1000) {
    EXPECT_GT(doubly_rounded, 0);
  }
}

TEST(SmallFloat, Float32AndFloat64AreTheHardwares) {
  oracle::Random random(61);
  const FloatFormat& float32 = float_format(ElementType::float32);
  const FloatFormat& float64 = float_format(ElementType::float64);
  for (int i = 0; i < testing::scaled(200'000); ++i) {
    const float a = random.any_float();
    const float b = random.any_float();
    ASSERT_EQ(decode(float32, std::bit_cast<std::uint32_t>(a)), static_cast<double>(a));
    const float quotient = a / b;
    const float product = a * b;
    ASSERT_EQ(encode(float32, quotient_of(a, b), Overflow::special), std::bit_cast<std::uint32_t>(quotient));
    ASSERT_EQ(encode(float32, product_of(a, b), Overflow::special), std::bit_cast<std::uint32_t>(product));
    const double wide = static_cast<double>(a) / static_cast<double>(b);
    ASSERT_EQ(encode(float64, quotient_of(a, b), Overflow::special), std::bit_cast<std::uint64_t>(wide));
    ASSERT_EQ(decode(float64, std::bit_cast<std::uint64_t>(wide)), wide);
  }
}

constexpr ElementType kFloatTypes[] = {
    ElementType::float64,      ElementType::float32,        ElementType::float16,    ElementType::bfloat16,
    ElementType::float8e4m3fn, ElementType::float8e4m3fnuz, ElementType::float8e5m2, ElementType::float8e5m2fnuz,
    ElementType::float4e2m1,   ElementType::float8e8m0};

// Draws a number of a format, or the middle between two of them.
double number_or_middle(oracle::Random& random, const FloatFormat& f) {
  const auto bits = static_cast<std::uint64_t>(random.between(0, static_cast<std::int64_t>(f.largest()) - 1));
  const double number = decode_any(f, bits);
  return random.one_in(2) ? number : number + (decode_any(f, bits + 1) - number) / 2;
}

// Draws a double of any pattern, or one of those or beside it, which rounding most easily gets wrong.
double beside_a_number(oracle::Random& random, const FloatFormat& f) {
  if (random.one_in(4)) return std::bit_cast<double>(random.between(INT64_MIN, INT64_MAX));
  const auto bits = std::bit_cast<std::uint64_t>(number_or_middle(random, f));
  const double value = std::bit_cast<double>(bits + static_cast<std::uint64_t>(random.between(-1, 1)));
  return random.one_in(2) ? value : -value;
}

TEST(SmallFloat, TheShortWayEncodesAndDecodesAsTheLongOne) {
  oracle::Random random(67);
  for (const ElementType type : kFloatTypes) {
    const FloatFormat& f = float_format(type);
    const std::uint64_t used = ~std::uint64_t{0} >> (64 - f.bits());
    for (int i = 0; i < testing::scaled(50'000); ++i) {
      const double value = beside_a_number(random, f);
      for (const Overflow overflow : kOverflows) {
        ASSERT_EQ(encode(f, value, overflow), encode_any(f, value, overflow)) << std::hexfloat << value;
      }
      if (std::isfinite(value)) {
        const double rounded = decode_any(f, encode(f, ratio_of(value), Overflow::special));
        ASSERT_EQ(std::bit_cast<std::uint64_t>(rounded_to(f, ratio_of(value))), std::bit_cast<std::uint64_t>(rounded));
      }
      const std::uint64_t bits = static_cast<std::uint64_t>(random.between(INT64_MIN, INT64_MAX)) & used;
      ASSERT_EQ(std::bit_cast<std::uint64_t>(decode(f, bits)), std::bit_cast<std::uint64_t>(decode_any(f, bits)));
    }
  }
}

// Dividends are chosen so that the quotient lies on or next to a number of the format, or a middle between two.
TEST(SmallFloat, TheShortWayRoundsProductsAndQuotientsAsTheLongOne) {
  oracle::Random random(71);
  for (const ElementType type : kFloatTypes) {
    const FloatFormat& f = float_format(type);
    for (int i = 0; i < testing::scaled(50'000); ++i) {
      const double a = random.one_in(8) ? random.positive_float(0, 20) + 0x1p-30 : double{random.any_float()};
      const auto near = static_cast<float>(number_or_middle(random, f) * a);
      const double b = std::bit_cast<float>(std::bit_cast<std::uint32_t>(near) ^ (random.one_in(2) ? 1U : 0U));
      if (!std::isfinite(b) || type == ElementType::float8e8m0) continue;
      ASSERT_EQ(rounded_quotient(f, b, a), rounded_to(f, quotient_of(b, a))) << std::hexfloat << b << " / " << a;
      ASSERT_EQ(encode_product(f, a, b), encode(f, product_of(a, b), Overflow::special)) << std::hexfloat << a;
    }
  }
}

TEST(SmallFloat, PowersOfTwoTakeTheNearestAndTheLargerOfTwo) {
  const FloatFormat& f = float_format(ElementType::float8e8m0);
  for (int exponent = -127; exponent <= 127; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    const auto code = static_cast<std::uint64_t>(exponent + 127);
    ASSERT_EQ(encode(f, power, Overflow::special), code);
    ASSERT_EQ(encode(f, power * 1.4999, Overflow::special), code);
    if (exponent < 127) {
      ASSERT_EQ(encode(f, power * 1.5, Overflow::special), code + 1);
    }
  }
  EXPECT_EQ(encode(f, 0x1p-140, Overflow::special), 0U);
  EXPECT_EQ(encode(f, 0.0, Overflow::saturate), 0U);
  for (const double none : {0.0, -1.0, kInfinity, -kInfinity, 0x1.8p127, 0x1p128, std::nan("")}) {
    EXPECT_EQ(encode(f, none, Overflow::special), 0xFFU) << none;
  }
  EXPECT_EQ(encode(f, kInfinity, Overflow::saturate), 0xFEU);
  EXPECT_EQ(encode(f, 0x1.8p127, Overflow::saturate), 0xFEU);
}

// Order is kept: what lies above another value does not end below it.
RC_GTEST_PROP(SmallFloatProperty, EncodingIsMonotone, (float a, float b)) {
  for (const FormatFacts* format : formats_with_sign()) {
    const FloatFormat& f = float_format(format->type);
    const double x = decode(f, encode(f, static_cast<double>(a), Overflow::saturate));
    const double y = decode(f, encode(f, static_cast<double>(b), Overflow::saturate));
    RC_ASSERT(std::isnan(a) || std::isnan(b) || (a <= b ? x <= y : y <= x));
  }
}

}  // namespace
}  // namespace qconform::reference
