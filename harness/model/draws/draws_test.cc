#include "harness/model/draws/draws.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "harness/tests/test_scale.h"
#include "reference/numerics/floats.h"
#include "reference/oracle/definitions.h"

namespace qconform {
namespace {

using reference::oracle::exact;

// The solved scale is the nearest float32 to the one that gives a tie, and so are its neighbours known.
TEST(TieSolver, PutsSumsOnTies) {
  Rng rng(11);
  const int count = testing::scaled(2000);
  for (int i = 0; i < count; ++i) {
    const std::int64_t sum = rng.between(1, 1 << 30) * (rng.chance(1, 2) ? 1 : -1);
    const std::int64_t half_steps = 2 * rng.between(0, 250) + 1;
    const float sx = random_scale(rng);
    const float sw = random_scale(rng);
    const float sy = tie_scale(sum, sx, sw, half_steps);
    const mpq_class product = exact(static_cast<double>(std::abs(sum))) * exact(sx) * exact(sw);
    const mpq_class wanted = product * 2 / exact(static_cast<double>(half_steps));
    ASSERT_EQ(sy, reference::oracle::rn32(wanted));
    ASSERT_NE(reference::tie_distance(sum, sx, sw, sy), reference::TieDistance::far);
    for (int steps = -2; steps <= 2; ++steps) ASSERT_TRUE(is_near_tie(sum, sx, sw, neighbour(sy, steps))) << steps;
    for (const int steps : {-3, 3, 100}) ASSERT_FALSE(is_near_tie(sum, sx, sw, neighbour(sy, steps))) << steps;
  }
}

// A solved scale lies where it should, and where none is found, neither neighbour does.
TEST(TieSolver, PutsMultipliersBelowPowersOfTwo) {
  Rng rng(12);
  const int count = testing::scaled(20000);
  int found = 0;
  for (int i = 0; i < count; ++i) {
    const float sx = random_float(rng, -25);
    const float sw = random_float(rng, -30);
    const auto exponent = static_cast<int>(rng.between(-20, 3));
    const mpq_class wanted = exact(sx) * exact(sw) / exact(std::ldexp(1.0, exponent));
    const auto sy = carry_scale(sx, sw, exponent);
    // The distance below 2^exponent, as a part of it.
    const auto off = [&](float scale) { return mpq_class(1 - wanted / exact(scale)); };
    const float nearest = sy.value_or(reference::oracle::rn32(wanted));
    const float above = exact(nearest) > wanted ? nearest : neighbour(nearest, 1);
    if (sy) {
      ASSERT_GT(off(*sy), 0);
    }
    ASSERT_EQ(off(above) <= exact(0x1p-32), sy.has_value());
    found += sy ? 1 : 0;
  }
  EXPECT_GT(found, count / 500);
}

TEST(TieSolver, ExtremesStayFloats) {
  EXPECT_EQ(tie_scale(5, 1.0F, 1.0F, 5), 2.0F);
  EXPECT_EQ(tie_scale(-5, 1.0F, 1.0F, 5), 2.0F);
  EXPECT_EQ(tie_scale(0, 1.0F, 1.0F, 5), 0.0F);
  EXPECT_EQ(tie_scale(std::int64_t{1} << 40, 0x1p100F, 0x1p100F, 1), 0x1.FFFFFEp127F);
  EXPECT_EQ(tie_scale(1, 0x1p-100F, 0x1p-100F, 1), 0.0F);
  EXPECT_EQ(neighbour(2.0F, 1), std::nextafter(2.0F, 3.0F));
  EXPECT_EQ(neighbour(2.0F, -1), std::nextafter(2.0F, 1.0F));
}

TEST(TieSolver, OtherValuesAreNoNearTies) {
  EXPECT_TRUE(is_near_tie(1, 1.0F, 1.0F, 2.0F));
  EXPECT_TRUE(is_near_tie(-3, 1.0F, 1.0F, 2.0F));
  EXPECT_FALSE(is_near_tie(0, 1.0F, 1.0F, 2.0F));
  EXPECT_FALSE(is_near_tie(2, 1.0F, 1.0F, 2.0F));
  EXPECT_FALSE(is_near_tie(4097, 1.0F, 1.0F, 2.0F)) << "far outside any output";
}

// By the words of draws.h: half_steps one after the other.
bool is_near_some_tie(std::int64_t sum, float x_scale, float w_scale, float y_scale) {
  if (sum == 0) return false;
  for (std::int64_t half_steps = 1; half_steps < 2048; half_steps += 2) {
    const float solved = tie_scale(sum, x_scale, w_scale, half_steps);
    const std::int64_t off = std::int64_t{std::bit_cast<std::int32_t>(y_scale)} - std::bit_cast<std::int32_t>(solved);
    if (off >= -2 && off <= 2) return true;
  }
  return false;
}

// Tries y_scales anywhere and near ties, all of them normal floats.
TEST(TieSolver, KnowsEveryNearTie) {
  Rng rng(12);
  const int count = testing::scaled(3000);
  int near = 0;
  for (int i = 0; i < count; ++i) {
    const std::int64_t sum = rng.between(-(1 << 20), 1 << 20);
    const auto any_scale = [&] {
      return random_float(rng, static_cast<int>(rng.chance(1, 2) ? rng.between(-30, 0) : rng.between(-100, 60)));
    };
    const float sx = any_scale();
    const float sw = any_scale();
    const float solved = tie_scale(sum, sx, sw, rng.between(1, 2100));
    const bool has_neighbours = solved > 0x1p-125F && solved < 0x1p126F;
    const float sy = has_neighbours && rng.chance(3, 4) ? neighbour(solved, rng.between(-3, 3)) : any_scale();
    const bool expected = is_near_some_tie(sum, sx, sw, sy);
    near += expected ? 1 : 0;
    ASSERT_EQ(is_near_tie(sum, sx, sw, sy), expected) << sum << " * " << sx << " * " << sw << " / " << sy;
  }
  EXPECT_GT(near, count / 8);
}

}  // namespace
}  // namespace qconform
