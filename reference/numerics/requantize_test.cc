// Requantization against the oracle, on random values and on values solved to lie at or near ties.
#include "reference/numerics/requantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/tests/test_scale.h"
#include "reference/oracle/definitions.h"
#include "reference/oracle/random_convolution.h"

namespace qconform::reference {
namespace {

using oracle::exact;
using oracle::for_oracle;
using oracle::Random;

struct RequantizeSample {
  std::int64_t accumulator;
  float x_scale;
  float w_scale;
  float y_scale;
};

float maybe_negative(Random& random, float value) {
  return random.one_in(8) ? -value : value;
}

// v = n + 1/2 exactly, all scales powers of two.
RequantizeSample power_of_two_tie(Random& random) {
  const std::int64_t odd = 2 * random.between(-300, 300) + 1;
  const auto zeros = static_cast<int>(random.between(0, 36));
  const auto x_exponent = static_cast<int>(random.between(-40, 40));
  const auto w_exponent = static_cast<int>(random.between(-40, 40));
  return {odd * (std::int64_t{1} << zeros), maybe_negative(random, std::ldexp(1.0F, x_exponent)),
          std::ldexp(1.0F, w_exponent), std::ldexp(1.0F, x_exponent + w_exponent + zeros + 1)};
}

// v = n + 1/2 exactly with scales that are no powers of two: (2n+1)*d * a*b / (2*a*b*d).
RequantizeSample ratio_tie(Random& random) {
  const std::int64_t a = random.between(1, 255);
  const std::int64_t b = random.between(1, 255);
  const std::int64_t d = random.between(1, 127);
  const auto exponent = static_cast<int>(random.between(-40, 40));
  return {(2 * random.between(-300, 300) + 1) * d, maybe_negative(random, static_cast<float>(a)),
          std::ldexp(static_cast<float>(b), exponent), std::ldexp(static_cast<float>(2 * a * b * d), exponent)};
}

// The y_scale with which v comes as near to n + 1/2 as a float32 scale allows, or one step beside
// it. False when no normal or subnormal float does.
bool solve_for_tie(Random& random, RequantizeSample& sample) {
  // Near small n a float scale comes nearest.
  const std::int64_t n = random.between(0, random.one_in(2) ? 7 : 300);
  const mpq_class target = mpq_class(2 * n + 1, 2);
  const mpq_class product =
      exact(static_cast<double>(sample.accumulator)) * exact(sample.x_scale) * exact(sample.w_scale);
  sample.y_scale = oracle::rn32(abs(product) / target);
  if (random.one_in(2)) {
    const float towards = random.one_in(2) ? 0.0F : std::numeric_limits<float>::infinity();
    sample.y_scale = std::nextafter(sample.y_scale, towards);
  }
  const bool usable = std::isfinite(sample.y_scale) && sample.y_scale != 0;
  sample.y_scale = maybe_negative(random, sample.y_scale);
  return usable;
}

RequantizeSample near_tie(Random& random) {
  RequantizeSample sample{};
  do {
    sample = {random.of_any_length(47), random.positive_float(-30, 30), random.positive_float(-30, 30), 0};
  } while (!solve_for_tie(random, sample));
  return sample;
}

RequantizeSample near_tie_with_extreme_scales(Random& random) {
  RequantizeSample sample{};
  do {
    sample = {random.of_any_length(47), random.any_float(), random.any_float(), 0};
  } while (!solve_for_tie(random, sample));
  return sample;
}

RequantizeSample of_any_bits(Random& random) {
  return {random.of_any_length(47), random.any_float(), random.any_float(), random.any_float()};
}

// Scales as models have them.
RequantizeSample realistic(Random& random) {
  return {random.between(-2'000'000, 2'000'000), random.positive_float(-10, -3), random.positive_float(-14, -5),
          random.positive_float(-8, -1)};
}

constexpr RequantizeSample (*kGenerators[])(Random&) = {
    power_of_two_tie, ratio_tie, near_tie, near_tie_with_extreme_scales, of_any_bits, realistic};

constexpr IntegerRange kUint8{0, 255};
constexpr IntegerRange kInt8{-128, 127};

// Counts the samples that a comparison met: it shows nothing about rounding unless it met ties.
struct NearTieCounts {
  int exact_ties = 0;
  int near_ties = 0;           // within 1e-6 of a tie, and not on it
  int large_accumulators = 0;  // beyond 2^40, and not saturated

  void count(const RequantizeSample& sample, const mpq_class& value) {
    if (abs(value) > 300) return;
    const mpq_class distance = oracle::distance_from_tie(value);
    if (distance == 0) ++exact_ties;
    if (distance > 0 && distance < mpq_class(1, 1'000'000)) ++near_ties;
    if (std::abs(sample.accumulator) > (std::int64_t{1} << 40)) ++large_accumulators;
  }
};

Requantization parameters_of(Random& random, const RequantizeSample& sample) {
  const IntegerRange range = random.one_in(2) ? kUint8 : kInt8;
  const auto zero_point = static_cast<std::int32_t>(random.between(range.lo, range.hi));
  return {sample.x_scale, sample.w_scale, sample.y_scale, zero_point, range};
}

std::string describe(const RequantizeSample& s, const Requantization& p) {
  return ::testing::PrintToString(s.accumulator) + " * " + ::testing::PrintToString(p.x_scale) + " * " +
         ::testing::PrintToString(p.w_scale) + " / " + ::testing::PrintToString(p.y_scale) + ", zero point " +
         std::to_string(p.y_zero_point);
}

TEST(Requantize, EqualsTheOracleOnHalfAMillionValues) {
  constexpr int kCount = 500'000;
  const int count = testing::scaled(kCount);
  Random random(20240601);
  NearTieCounts counts;
  for (int i = 0; i < count; ++i) {
    const RequantizeSample sample = kGenerators[static_cast<std::size_t>(i) % std::size(kGenerators)](random);
    const Requantization p = parameters_of(random, sample);
    const mpq_class value = oracle::scaled(sample.accumulator, for_oracle(p));
    counts.count(sample, value);
    const mpz_class rounded = oracle::rne(value);
    const long expected = std::clamp<mpz_class>(rounded + p.y_zero_point, p.y_range.lo, p.y_range.hi).get_si();
    ASSERT_EQ(requantize(RoundingProfile::correctly_rounded, sample.accumulator, p), expected) << describe(sample, p);
    const long bounded = std::clamp<mpz_class>(rounded, -8192, 8192).get_si();
    ASSERT_EQ(round_scaled_exactly(sample.accumulator, p.x_scale, p.w_scale, p.y_scale), bounded)
        << describe(sample, p);
  }
  RecordProperty("exact_ties", counts.exact_ties);
  RecordProperty("near_ties", counts.near_ties);
  RecordProperty("large_accumulators", counts.large_accumulators);
  if (count < 1000) return;  // too few for shares to mean anything
  EXPECT_GE(counts.exact_ties, count / 4);
  EXPECT_GE(counts.near_ties, count / 8);
  EXPECT_GE(counts.large_accumulators, count / 30);
}

TEST(Requantize, IsExactAtTheBordersOfTheScales) {
  const float smallest = std::numeric_limits<float>::denorm_min();
  const float largest = std::numeric_limits<float>::max();
  const std::int64_t accumulators[] = {1, -1, 3, (std::int64_t{1} << 47) - 1, -((std::int64_t{1} << 47) - 1)};
  const float scales[] = {smallest, std::numeric_limits<float>::min(), 0.1F, 1.0F, largest, -smallest, -largest};
  for (const std::int64_t a : accumulators) {
    for (const float sx : scales) {
      for (const float sw : scales) {
        for (const float sy : scales) {
          const Requantization p{sx, sw, sy, 3, kInt8};
          ASSERT_EQ(requantize(RoundingProfile::correctly_rounded, a, p), oracle::requantize(a, for_oracle(p)))
              << describe({a, sx, sw, sy}, p);
        }
      }
    }
  }
}

TEST(Requantize, ZeroAccumulatorOrScaleGivesTheZeroPoint) {
  EXPECT_EQ(requantize(RoundingProfile::correctly_rounded, 0, {0.1F, 0.2F, 0.3F, 77, kUint8}), 77);
  EXPECT_EQ(requantize(RoundingProfile::correctly_rounded, 123, {0.0F, 0.2F, 0.3F, 77, kUint8}), 77);
  EXPECT_EQ(requantize(RoundingProfile::correctly_rounded, 123, {0.1F, -0.0F, 0.3F, 77, kUint8}), 77);
}

TEST(Requantize, SaturatesAfterTheZeroPointIsAdded) {
  const struct {
    std::int64_t accumulator;
    std::int32_t zero_point;
    IntegerRange range;
    std::int32_t expected;
  } cases[] = {{255, 0, kUint8, 255},   {256, 0, kUint8, 255},    {256, 1, kUint8, 255},   {-1, 0, kUint8, 0},
               {-1, 1, kUint8, 0},      {-2, 1, kUint8, 0},       {300, -128, kInt8, 127}, {255, -128, kInt8, 127},
               {254, -128, kInt8, 126}, {-255, 127, kInt8, -128}, {-254, 127, kInt8, -127}};
  for (const auto& c : cases) {
    EXPECT_EQ(requantize(RoundingProfile::correctly_rounded, c.accumulator, {1, 1, 1, c.zero_point, c.range}),
              c.expected)
        << c.accumulator << " + " << c.zero_point;
  }
}

// The float profiles against their steps, each rounded by definition.
TEST(RequantizeProfiles, EqualTheirDefinitions) {
  const int count = testing::scaled(100'000);
  Random random(7);
  int differ_from_exact[4] = {};
  for (int i = 0; i < count; ++i) {
    RequantizeSample sample = kGenerators[static_cast<std::size_t>(i) % std::size(kGenerators)](random);
    if (std::abs(sample.accumulator) > 0x7FFFFFFF) sample.accumulator %= 0x7FFFFFFF;
    const auto accumulator = static_cast<std::int32_t>(sample.accumulator);
    if (random.one_in(2)) {
      if (accumulator == 0 || !solve_for_tie(random, sample)) continue;
    }
    const Requantization p = parameters_of(random, sample);
    const long exactly = oracle::requantize(accumulator, for_oracle(p));
    if (const auto expected = oracle::requantize_ort_f32(accumulator, for_oracle(p))) {
      ASSERT_EQ(requantize(RoundingProfile::ort_f32, accumulator, p), *expected) << describe(sample, p);
      if (*expected != exactly) ++differ_from_exact[0];
    }
    if (const auto expected = oracle::requantize_onnx_reference(accumulator, for_oracle(p))) {
      ASSERT_EQ(requantize(RoundingProfile::onnx_reference, accumulator, p), *expected) << describe(sample, p);
      if (*expected != exactly) ++differ_from_exact[1];
    }
    const long twice = oracle::requantize_tflite(accumulator, for_oracle(p));
    ASSERT_EQ(requantize(RoundingProfile::tflite, accumulator, p), twice) << describe(sample, p);
    if (twice != exactly) ++differ_from_exact[2];
    const long once = oracle::requantize_tflite_single_rounding(accumulator, for_oracle(p));
    ASSERT_EQ(requantize(RoundingProfile::tflite_single_rounding, accumulator, p), once) << describe(sample, p);
    if (once != exactly) ++differ_from_exact[3];
  }
  RecordProperty("ort_f32_differs", differ_from_exact[0]);
  RecordProperty("onnx_reference_differs", differ_from_exact[1]);
  if (count < 1000) return;
  EXPECT_GE(differ_from_exact[0], count / 50);
  EXPECT_GE(differ_from_exact[1], count / 50);
  EXPECT_GE(differ_from_exact[2], count / 50);
  EXPECT_GE(differ_from_exact[3], count / 50);
}

struct ProfileVector {
  const char* what;
  std::int64_t accumulator;
  Requantization parameters;
  std::int32_t correctly_rounded;
  std::int32_t ort_f32;
  std::int32_t onnx_reference;
};

// Worked by hand; every line separates at least two profiles.
TEST(RequantizeProfiles, DifferWhereTheyShould) {
  const ProfileVector vectors[] = {
      {"1/2 + 1: rounding before the zero point gives 0 + 1, after it rne(1.5)",
       1,
       {1.0F, 1.0F, 2.0F, 1, kUint8},
       1,
       1,
       2},
      {"3/2 + 1: 2 + 1 against rne(2.5)", 3, {1.0F, 1.0F, 2.0F, 1, kUint8}, 3, 3, 2},
      {"-1/2 + 1: 0 + 1 against rne(0.5)", -1, {1.0F, 1.0F, 2.0F, 1, kUint8}, 1, 1, 0},
      {"(2^24 + 1) / 2^25, just above a tie: float32 drops the last bit of the accumulator",
       16'777'217,
       {1.0F, 1.0F, 0x1p25F, 0, kUint8},
       1,
       0,
       1},
      {"(3 * 2^24 - 1) / 2^25, just below a tie: float32 rounds 50331647 up, onto the tie",
       50'331'647,
       {1.0F, 1.0F, 0x1p25F, 0, kUint8},
       1,
       2,
       1},
      {"(1 + 2^-23)(1 - 2^-24) / 2, just above 1/2: the multiplier's product rounds to 1",
       1,
       {0x1.000002p0F, 0x1.fffffep-1F, 2.0F, 0, kUint8},
       1,
       0,
       0},
      {"the accumulator wraps to 32 bits in the float profiles: 2^32 + 6 counts as 6",
       (std::int64_t{1} << 32) + 6,
       {1.0F, 1.0F, 2.0F, 0, kUint8},
       255,
       3,
       3},
  };
  for (const ProfileVector& v : vectors) {
    EXPECT_EQ(requantize(RoundingProfile::correctly_rounded, v.accumulator, v.parameters), v.correctly_rounded)
        << v.what;
    EXPECT_EQ(requantize(RoundingProfile::ort_f32, v.accumulator, v.parameters), v.ort_f32) << v.what;
    EXPECT_EQ(requantize(RoundingProfile::onnx_reference, v.accumulator, v.parameters), v.onnx_reference) << v.what;
  }
}

}  // namespace
}  // namespace qconform::reference
