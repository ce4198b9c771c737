#include "reference/numerics/integers.h"

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

}  // namespace
}  // namespace qconform::reference
