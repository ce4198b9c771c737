// The oracle's own rounding, against the processor's where that is correctly rounded by IEEE 754.

#include "reference/oracle/definitions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/tests/test_scale.h"
#include "reference/oracle/random_convolution.h"

namespace qconform::reference::oracle {
namespace {

TEST(Oracle, RoundsTiesToEven) {
  const std::pair<mpq_class, long> cases[] = {{mpq_class(1, 2), 0},  {mpq_class(3, 2), 2},   {mpq_class(5, 2), 2},
                                              {mpq_class(-1, 2), 0}, {mpq_class(-3, 2), -2}, {mpq_class(-5, 2), -2},
                                              {mpq_class(2, 3), 1},  {mpq_class(-2, 3), -1}, {mpq_class(1, 3), 0},
                                              {mpq_class(7), 7},     {mpq_class(-8), -8}};
  for (const auto& [value, expected] : cases) EXPECT_EQ(rne(value), expected) << value;
}

TEST(Oracle, MeasuresTheDistanceFromATie) {
  EXPECT_EQ(distance_from_tie(mpq_class(7, 2)), 0);
  EXPECT_EQ(distance_from_tie(mpq_class(-7, 2)), 0);
  EXPECT_EQ(distance_from_tie(mpq_class(3)), mpq_class(1, 2));
  EXPECT_EQ(distance_from_tie(mpq_class(-1, 4)), mpq_class(1, 4));
}

TEST(Oracle, RoundsToFloat32AtItsBorders) {
  const float smallest = std::numeric_limits<float>::denorm_min();
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(rn32(exact(smallest) / 2), 0.0F);
  EXPECT_EQ(rn32(exact(smallest) * mpq_class(3, 4)), smallest);
  EXPECT_EQ(rn32(exact(smallest) * mpq_class(3, 2)), 2 * smallest);
  EXPECT_TRUE(std::signbit(rn32(-exact(smallest) / 4)));
  // Half a unit beyond the largest float is a tie with 2^128, which is the even one.
  EXPECT_EQ(rn32(exact(largest) + exact(0x1p103)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(rn32(exact(largest) + exact(0x1p102)), largest);
  EXPECT_EQ(rn32(-exact(0x1p200)), -std::numeric_limits<float>::infinity());
}

TEST(Oracle, AgreesWithTheProcessor) {
  Random random(1);
  for (int i = 0; i < testing::scaled(100'000); ++i) {
    const float a = random.any_float();
    const float b = random.any_float();
    ASSERT_EQ(rn32(exact(a) * exact(b)), a * b) << a << " * " << b;
    ASSERT_EQ(rn32(exact(a) / exact(b)), a / b) << a << " / " << b;
    const double wide = static_cast<double>(a) * 0x1.921fb54442d18p1;
    ASSERT_EQ(rn64(exact(a) * exact(0x1.921fb54442d18p1)), wide) << a;
    ASSERT_EQ(rn32(exact(wide)), static_cast<float>(wide)) << wide;
  }
}

}  // namespace
}  // namespace qconform::reference::oracle
