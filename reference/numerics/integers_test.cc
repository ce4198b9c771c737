// Rounding to integers against its definition, and the portable wide integers against the compiler's own and GMP.

#include "reference/numerics/integers.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <limits>

#include "harness/tests/test_scale.h"
#include "reference/oracle/definitions.h"
#include "reference/oracle/random_convolution.h"

namespace qconform::reference {
namespace {

using oracle::Random;

// Compared as rationals: the rounded value of a large float has no integer type.
template <typename Float>
void expect_rne(Float value) {
  ASSERT_EQ(oracle::exact(static_cast<double>(round_half_even(value))), mpq_class(oracle::rne(oracle::exact(value))))
      << ::testing::PrintToString(value);
}

TEST(RoundHalfEven, EqualsTheDefinitionForFloat) {
  Random random(19);
  for (int i = 0; i < testing::scaled(100'000); ++i) {
    const float near_integers = random.positive_float(-3, 25);
    ASSERT_NO_FATAL_FAILURE(expect_rne(random.one_in(2) ? near_integers : -near_integers));
    ASSERT_NO_FATAL_FAILURE(expect_rne(random.any_float()));
  }
}

TEST(RoundHalfEven, EqualsTheDefinitionAtTiesAndBesideThem) {
  for (int n = -600; n <= 600; ++n) {
    const float tie = static_cast<float>(n) + 0.5F;
    const double wide_tie = static_cast<double>(n) + 0.5;
    for (const float towards : {-1e9F, 1e9F}) {
      ASSERT_NO_FATAL_FAILURE(expect_rne(std::nextafter(tie, towards)));
      ASSERT_NO_FATAL_FAILURE(expect_rne(std::nextafter(wide_tie, static_cast<double>(towards))));
    }
    ASSERT_NO_FATAL_FAILURE(expect_rne(tie));
    ASSERT_NO_FATAL_FAILURE(expect_rne(wide_tie));
  }
}

TEST(RoundHalfEven, EqualsTheDefinitionForDouble) {
  Random random(23);
  for (int i = 0; i < testing::scaled(100'000); ++i) {
    // An odd number of halves, quarters, ... of every length: ties and their neighbours.
    const auto numerator = static_cast<double>(random.of_any_length(53));
    const auto shift = static_cast<int>(random.between(0, 54));
    ASSERT_NO_FATAL_FAILURE(expect_rne(std::ldexp(numerator, -shift)));
  }
}

TEST(RoundHalfEven, LargestFractionsAndIntegersBeyondThem) {
  for (const float value : {8388607.5F, 8388606.5F, 8388608.0F, 16777215.0F, 0.49999997F, 1.4999999F}) {
    ASSERT_NO_FATAL_FAILURE(expect_rne(value));
    ASSERT_NO_FATAL_FAILURE(expect_rne(-value));
  }
  for (const double value : {4503599627370495.5, 4503599627370494.5, 4503599627370496.0, 0.49999999999999994}) {
    ASSERT_NO_FATAL_FAILURE(expect_rne(value));
    ASSERT_NO_FATAL_FAILURE(expect_rne(-value));
  }
  EXPECT_EQ(round_half_even(std::numeric_limits<float>::max()), std::numeric_limits<float>::max());
  EXPECT_EQ(round_half_even(std::numeric_limits<double>::denorm_min()), 0.0);
}

TEST(RoundHalfEven, KeepsInfinitiesAndNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(round_half_even(kInfinity), kInfinity);
  EXPECT_EQ(round_half_even(-kInfinity), -kInfinity);
  EXPECT_TRUE(std::isnan(round_half_even(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(round_half_even(std::numeric_limits<double>::quiet_NaN())));
}

template <typename Wide>
mpz_class to_gmp(Wide value) {
  mpz_class result = 0;
  for (int i = 0; value != 0; ++i, value >>= 32) {
    result += mpz_class(static_cast<unsigned long>(static_cast<std::uint32_t>(value))) << static_cast<unsigned>(32 * i);
  }
  return result;
}

// Draws numbers of every length, with runs of ones and zeros, where carries and borrows travel far.
template <typename Wide>
Wide random_wide(Random& random, int bits) {
  Wide value = 0;
  const auto length = static_cast<int>(random.between(0, bits));
  while (bit_length(value) < length) {
    const auto run = static_cast<int>(random.between(1, 31));
    const std::uint64_t ones = (std::uint64_t{1} << run) - 1;
    const std::int64_t kind = random.between(0, 3);
    value =
        (value << run) + (kind == 0   ? ones
                          : kind == 1 ? 1
                                      : static_cast<std::uint64_t>(random.between(1, static_cast<std::int64_t>(ones))));
  }
  return value >> (bit_length(value) - length);
}

template <typename Wide>
void check_against_gmp(std::uint64_t seed, int bits, int count) {
  Random random(seed);
  const mpz_class modulus = mpz_class(1) << static_cast<unsigned>(bits);
  for (int i = 0; i < count; ++i) {
    const auto a = random_wide<Wide>(random, bits);
    const auto b = random_wide<Wide>(random, bits);
    const mpz_class x = to_gmp(a);
    const mpz_class y = to_gmp(b);
    const mpz_class sum = (x + y) % modulus;
    const mpz_class product = (x * y) % modulus;
    const mpz_class difference = ((x - y) % modulus + modulus) % modulus;
    ASSERT_EQ(to_gmp(a + b), sum);
    ASSERT_EQ(to_gmp(a - b), difference) << x << " - " << y;
    ASSERT_EQ(to_gmp(a * b), product) << x << " * " << y;
    ASSERT_EQ(a < b, x < y);
    ASSERT_EQ(a == b, x == y);
    ASSERT_EQ(static_cast<unsigned>(bit_length(a)), a == 0 ? 0U : mpz_sizeinbase(x.get_mpz_t(), 2));
    if (b != 0) {
      const mpz_class quotient = x / y;
      const mpz_class remainder = x % y;
      ASSERT_EQ(to_gmp(a / b), quotient) << x << " / " << y;
      ASSERT_EQ(to_gmp(a % b), remainder) << x << " % " << y;
    }
    const auto shift = static_cast<int>(random.between(0, bits - 1));
    const mpz_class up = (x << static_cast<unsigned>(shift)) % modulus;
    const mpz_class down = x >> static_cast<unsigned>(shift);
    ASSERT_EQ(to_gmp(a << shift), up) << x << " << " << shift;
    ASSERT_EQ(to_gmp(a >> shift), down) << x << " >> " << shift;
    ASSERT_EQ(static_cast<std::uint64_t>(a & ~std::uint64_t{0}), static_cast<std::uint64_t>(a));
  }
}

TEST(WideUnsigned, EqualsGmpAt128Bits) {
  check_against_gmp<Wide128>(3, 128, testing::scaled(100'000));
}

TEST(WideUnsigned, EqualsGmpAt256Bits) {
  check_against_gmp<Wide256>(5, 256, testing::scaled(100'000));
}

TEST(Uint128, EqualsGmp) {
  check_against_gmp<uint128>(7, 128, testing::scaled(100'000));
}

TEST(WideUnsigned, ShiftsOfTheWholeWidthGiveZero) {
  EXPECT_EQ(Wide128(~std::uint64_t{0}) << 128, Wide128(0));
  EXPECT_EQ(Wide128(~std::uint64_t{0}) >> 128, Wide128(0));
}

// The portable type where round_quotient() uses the compiler's: same numerators, same results.
TEST(WideUnsigned, RoundsQuotientsAsTheBuiltInTypeDoes) {
  Random random(11);
  const int count = testing::scaled(200'000);
  int ties = 0;
  for (int i = 0; i < count; ++i) {
    auto numerator = random_wide<uint128>(random, 120);
    auto divisor = random_wide<uint128>(random, 48) + 1;
    auto exponent = static_cast<int>(bit_length(divisor) - bit_length(numerator) + random.between(-3, 15));
    if (random.one_in(2)) {  // (2n+1) d / (2d)
      const auto d = static_cast<std::uint64_t>(random.between(1, std::int64_t{1} << 47));
      numerator = uint128{d} * static_cast<std::uint64_t>(2 * random.between(0, 4000) + 1);
      divisor = d;
      exponent = -1;
      ++ties;
    }
    for (const Ties rule : {Ties::to_even, Ties::away_from_zero, Ties::toward_zero}) {
      const auto as_256 = [](uint128 v) {
        return (Wide256(static_cast<std::uint64_t>(v >> 64)) << 64) + Wide256(static_cast<std::uint64_t>(v));
      };
      const auto as_128 = [](uint128 v) {
        return (Wide128(static_cast<std::uint64_t>(v >> 64)) << 64) + Wide128(static_cast<std::uint64_t>(v));
      };
      const std::int32_t expected = round_quotient(numerator, divisor, exponent, rule);
      ASSERT_EQ(round_quotient(as_128(numerator), as_128(divisor), exponent, rule), expected);
      ASSERT_EQ(round_quotient(as_256(numerator), as_256(divisor), exponent, rule), expected);
    }
    mpq_class value(to_gmp(numerator), to_gmp(divisor));
    value.canonicalize();
    const mpz_class power = mpz_class(1) << static_cast<unsigned>(std::abs(exponent));
    value = exponent >= 0 ? mpq_class(value * power) : mpq_class(value / power);
    const mpz_class rounded = oracle::rne(value);
    const long bounded = rounded > kSaturatedMagnitude ? kSaturatedMagnitude : rounded.get_si();
    ASSERT_EQ(round_quotient(numerator, divisor, exponent, Ties::to_even), bounded);
  }
  EXPECT_GE(ties, count / 3);
}

}  // namespace
}  // namespace qconform::reference
