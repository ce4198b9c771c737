// The tiers Q31 and D against models of the implementations that they admit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/tests/test_scale.h"
#include "reference/numerics/admissible.h"
#include "reference/numerics/integers.h"
#include "reference/tests/admissible.h"

namespace qconform::reference {
namespace {

using oracle::Random;

// --- Q31 -----------------------------------------------------------------------------------------

// multiplier = q * 2^(shift - 31)
struct QuantizedMultiplier {
  std::int64_t q;  // in [2^30, 2^31), or 0
  int shift;
};

// As TFLite's QuantizeMultiplier.
QuantizedMultiplier quantize_multiplier(double multiplier) {
  int shift = 0;
  const double fraction = std::frexp(multiplier, &shift);
  auto q = static_cast<std::int64_t>(std::round(fraction * 0x1p31));
  if (q == std::int64_t{1} << 31) {
    q /= 2;
    ++shift;
  }
  if (shift < -31) return {0, 0};
  if (shift > 30) return {(std::int64_t{1} << 31) - 1, 30};
  return {q, shift};
}

double in_double(const Requantization& p) {
  return static_cast<double>(p.x_scale) * p.w_scale / p.y_scale;
}

// Ways to form the multiplier in float32.
using FloatMultiplier = float (*)(const Requantization&);
constexpr FloatMultiplier kFloatMultipliers[] = {
    [](const Requantization& p) { return p.x_scale * p.w_scale / p.y_scale; },
    [](const Requantization& p) { return p.x_scale * (p.w_scale / p.y_scale); },
    [](const Requantization& p) { return p.x_scale * p.w_scale * (1 / p.y_scale); },
    [](const Requantization& p) { return p.x_scale * (p.w_scale * (1 / p.y_scale)); }};

constexpr IntegerRange kInt32{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};

std::int64_t shifted_left(std::int64_t value, int count) {
  return saturate(value * (std::int64_t{1} << count), kInt32);
}

// gemmlowp: to the nearest, ties towards positive infinity.
std::int64_t doubling_high_multiply(std::int64_t a, std::int64_t b) {
  const std::int64_t product = a * b;
  const std::int64_t nudge = product >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30);
  return (product + nudge) / (std::int64_t{1} << 31);
}

// gemmlowp: to the nearest, ties away from zero.
std::int64_t divide_by_power_of_two(std::int64_t value, int exponent) {
  const std::int64_t mask = (std::int64_t{1} << exponent) - 1;
  const std::int64_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
  return (value >> exponent) + ((value & mask) > threshold ? 1 : 0);
}

std::int64_t shift_half_up(std::int64_t value, int exponent) {
  if (exponent == 0) return value;
  return (value + (std::int64_t{1} << (exponent - 1))) >> exponent;
}

std::int64_t gemmlowp(std::int64_t a, QuantizedMultiplier m) {
  const std::int64_t high = doubling_high_multiply(shifted_left(a, std::max(0, m.shift)), m.q);
  return divide_by_power_of_two(high, std::max(0, -m.shift));
}

// NEON's vqrdmulh and vrshl without gemmlowp's fix-up: both round ties up.
std::int64_t neon_half_up(std::int64_t a, QuantizedMultiplier m) {
  const std::int64_t high = shift_half_up(shifted_left(a, std::max(0, m.shift)) * m.q, 31);
  return shift_half_up(high, std::max(0, -m.shift));
}

// TFLite with single rounding, and XNNPACK's rndnu scalar kernels.
std::int64_t single_rounding(std::int64_t a, QuantizedMultiplier m) {
  return shift_half_up(a * m.q, 31 - m.shift);
}

// XNNPACK's rndna: single rounding with ties away from zero.
std::int64_t single_rounding_away(std::int64_t a, QuantizedMultiplier m) {
  const std::int64_t magnitude = shift_half_up(std::abs(a) * m.q, 31 - m.shift);
  return a < 0 ? -magnitude : magnitude;
}

// XNNPACK's rndnu on NEON: a truncating doubling multiplication and a rounding shift of at least one.
std::int64_t xnnpack_rndnu(std::int64_t a, QuantizedMultiplier m) {
  const int right = std::max(1, -m.shift);
  return shift_half_up((shifted_left(a, m.shift + right) * m.q) >> 31, right);
}

struct FixedPointModel {
  const char* name;
  std::int64_t (*round)(std::int64_t accumulator, QuantizedMultiplier);
};

constexpr FixedPointModel kFixedPointModels[] = {{"gemmlowp", gemmlowp},
                                                 {"NEON half up", neon_half_up},
                                                 {"single rounding", single_rounding},
                                                 {"single rounding, ties away", single_rounding_away},
                                                 {"XNNPACK rndnu", xnnpack_rndnu}};

// The multiplier just below or at a power of two, where q may round up to 2^31.
SummedElement beside_a_power_of_two(Random& random) {
  const std::int64_t odd = 2 * random.between(-300, 300) + 1;
  const auto right_shift = static_cast<int>(random.between(0, random.one_in(2) ? 2 : 20));
  // sx = 1 + a * 2^-23, sw = 1 + b * 2^-23, sy = 1 + (a + b) * 2^-23: off by about a * b * 2^-46.
  const float sx = moved(1.0F, random.between(-300, 300));
  const float sw = moved(1.0F, random.between(-300, 300));
  const auto sy = static_cast<float>(static_cast<double>(sx) * sw);
  return {(odd << right_shift) + (random.one_in(2) ? 0 : random.between(-1, 1)),
          {sx, sw, std::ldexp(moved(sy, random.one_in(4) ? random.between(-1, 1) : 0), right_shift + 1), 0, {}}};
}

SummedElement fixed_point_element(Random& random) {
  SummedElement e = random.one_in(2) ? beside_a_power_of_two(random) : adversarial_element(random);
  e.parameters.x_scale = std::fabs(e.parameters.x_scale);
  choose_output(random, e.parameters);
  return e;
}

TEST(FixedPointSet, HoldsWhatFixedPointImplementationsGive) {
  const int count = testing::scaled(1'000'000);
  Random random(83);
  std::int64_t inexact = 0;
  std::int64_t beyond_float = 0;
  std::int64_t rounded_twice = 0;
  std::int64_t normalized_up = 0;
  for (int i = 0; i < count; ++i) {
    const SummedElement e = fixed_point_element(random);
    const AdmissibleSet set = fixed_point_set(e.accumulator, e.parameters);
    const QuantizedMultiplier multiplier = quantize_multiplier(in_double(e.parameters));
    const std::int32_t exactly = requantize(RoundingProfile::correctly_rounded, e.accumulator, e.parameters);
    const bool open = !float_interval_set(e.accumulator, e.parameters, 5).is_singleton();
    for (const FixedPointModel& model : kFixedPointModels) {
      const std::int64_t rounded = model.round(e.accumulator, multiplier);
      const std::int32_t value = saturate(rounded + e.parameters.y_zero_point, e.parameters.y_range);
      ASSERT_TRUE(set.contains(value)) << model.name << " gives " << value << ", not in " << set.text() << ": "
                                       << describe(e);
      if (value != exactly) ++inexact;
      if (value != exactly && !open) ++beyond_float;
    }
    if (gemmlowp(e.accumulator, multiplier) != single_rounding_away(e.accumulator, multiplier)) ++rounded_twice;
    const double wide = static_cast<double>(e.parameters.x_scale) * e.parameters.w_scale / e.parameters.y_scale;
    int shift = 0;
    if (multiplier.q == 1 << 30 && std::frexp(wide, &shift) > 0.75) ++normalized_up;
  }
  RecordProperty("not_exact", std::to_string(inexact));
  RecordProperty("beyond_F_5", std::to_string(beyond_float));
  RecordProperty("rounded_twice", std::to_string(rounded_twice));
  RecordProperty("normalized_up", std::to_string(normalized_up));
  if (count < 10'000) return;
  EXPECT_GE(inexact, count / 20);
  EXPECT_GE(beyond_float, count / 1000) << "double rounding leaves F_5: without it the absolute term is not tested";
  EXPECT_GE(rounded_twice, count / 100);
  EXPECT_GE(normalized_up, count / 1000);
}

TEST(FixedPointSet, HoldsWhatMultipliersOfFloat32Give) {
  const int count = testing::scaled(300'000);
  Random random(89);
  std::int64_t beyond_double = 0;
  for (int i = 0; i < count; ++i) {
    const SummedElement e = fixed_point_element(random);
    if (!within_domain(e.parameters)) continue;
    const AdmissibleSet set = fixed_point_float32_set(e.accumulator, e.parameters);
    const AdmissibleSet narrower = fixed_point_set(e.accumulator, e.parameters);
    for (const FloatMultiplier multiplier : kFloatMultipliers) {
      const QuantizedMultiplier formed = quantize_multiplier(static_cast<double>(multiplier(e.parameters)));
      for (const FixedPointModel& model : kFixedPointModels) {
        const std::int64_t rounded = model.round(e.accumulator, formed);
        const std::int32_t value = saturate(rounded + e.parameters.y_zero_point, e.parameters.y_range);
        ASSERT_TRUE(set.contains(value)) << model.name << " gives " << value << ", not in " << set.text() << ": "
                                         << describe(e);
        if (!narrower.contains(value)) ++beyond_double;
      }
    }
  }
  RecordProperty("beyond_Q31", std::to_string(beyond_double));
  if (count < 10'000) return;
  EXPECT_GE(beyond_double, count / 100) << "else the tier is not tested";
}

// The bound is attained: a value further from an integer than one half, by the whole absolute term.
TEST(FixedPointSet, NeedsItsAbsoluteTerm) {
  // M = 1/4, so rs = 1: 5 * 2^29 ... A = 5: t = 5/2 rounds up to 3, and 3/2 rounds up to 2, whereas v = 1 1/4.
  const Requantization p{0.5F, 0.5F, 1, 0, {0, 255}};
  EXPECT_EQ(gemmlowp(5, quantize_multiplier(in_double(p))), 2);
  EXPECT_EQ(fixed_point_set(5, p).text(), "{1, 2}");
  EXPECT_EQ(fixed_point_set(3, {1, 1, 1, 0, {0, 255}}).text(), "{3}") << "rs = 0: one rounding";
}

// --- D -------------------------------------------------------------------------------------------

// float32 operations, exact to half a unit or off by up to the GPU accuracies.
class Operations {
 public:
  Operations(Random& random, bool directml) : random_(random), directml_(directml) {}

  float add(float a, float b) { return faithful(static_cast<double>(a) + b, a + b); }
  float multiply(float a, float b) { return faithful(static_cast<double>(a) * b, a * b); }
  float divide(float a, float b) { return directml_ ? moved(a / b, random_.between(-1, 1)) : a / b; }
  float round(float value) {
    if (!directml_ || std::fabs(value - std::trunc(value)) != 0.5F) return round_half_even(value);
    return random_.one_in(2) ? std::floor(value) : std::ceil(value);
  }
  Random& random() { return random_; }

 private:
  // Either neighbour of the exact result: an error of less than one unit, two roundings.
  float faithful(double exactly, float nearest) {
    if (!directml_ || static_cast<double>(nearest) == exactly || random_.one_in(2)) return nearest;
    const bool up = exactly > static_cast<double>(nearest);
    return std::nextafter(nearest, up ? INFINITY : -INFINITY);
  }

  Random& random_;
  bool directml_;
};

struct FloatConvolution {
  std::vector<std::int64_t> x;  // less the zero point
  std::vector<std::int64_t> w;
  std::int32_t bias;
  Requantization parameters;
};

FloatConvolution random_float_convolution(Random& random) {
  FloatConvolution c{};
  ElementSum sum{};
  do {
    const std::int64_t products = random.between(1, 12);
    c.x.clear();
    c.w.clear();
    c.bias = random.one_in(2) ? static_cast<std::int32_t>(random.of_any_length(24)) : 0;
    sum.accumulator = c.bias;
    for (std::int64_t i = 0; i < products; ++i) {
      c.x.push_back(random.between(-255, 255));
      c.w.push_back(random.between(-255, 255));
      sum.accumulator += c.x.back() * c.w.back();
    }
    if (sum.accumulator == 0) continue;
    c.parameters.x_scale = random.positive_float(-10, 3);
    c.parameters.w_scale = random.positive_float(-10, 3);
    const double product =
        std::fabs(static_cast<double>(sum.accumulator)) * c.parameters.x_scale * c.parameters.w_scale;
    c.parameters.y_scale =
        moved(static_cast<float>(product / (static_cast<double>(random.between(0, 200)) + 0.5)), random.between(-6, 6));
  } while (sum.accumulator == 0);
  choose_output(random, c.parameters);
  return c;
}

ElementSum sum_of(const FloatConvolution& c) {
  ElementSum sum{c.bias, std::abs(std::int64_t{c.bias}), static_cast<std::int64_t>(c.x.size())};
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    sum.accumulator += c.x[i] * c.w[i];
    sum.magnitude += std::abs(c.x[i] * c.w[i]);
  }
  return sum;
}

// Dequantizes, sums up in a random order, divides or multiplies by the reciprocal.
std::int32_t convolve_in_float(const FloatConvolution& c, Operations& f) {
  const Requantization& p = c.parameters;
  std::vector<float> terms;
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    const float x = f.multiply(static_cast<float>(c.x[i]), p.x_scale);
    const float w = f.multiply(static_cast<float>(c.w[i]), p.w_scale);
    terms.push_back(f.multiply(x, w));
  }
  if (c.bias != 0) terms.push_back(f.multiply(static_cast<float>(c.bias), f.multiply(p.x_scale, p.w_scale)));
  while (terms.size() > 1) {
    const auto i = static_cast<std::size_t>(f.random().between(0, static_cast<std::int64_t>(terms.size()) - 2));
    terms[i] = f.add(terms[i], terms.back());
    terms.pop_back();
  }
  const float quotient =
      f.random().one_in(2) ? f.divide(terms[0], p.y_scale) : f.multiply(terms[0], f.divide(1.0F, p.y_scale));
  return saturate(static_cast<std::int64_t>(f.round(std::clamp(quotient, -1000.0F, 1000.0F))) + p.y_zero_point,
                  p.y_range);
}

void check_float_convolutions(FloatAccuracy accuracy, std::uint64_t seed) {
  const int count = testing::scaled(200'000);
  Random random(seed);
  Operations operations(random, accuracy == FloatAccuracy::directml);
  std::int64_t inexact = 0;
  std::int64_t beyond_float = 0;
  for (int i = 0; i < count; ++i) {
    const FloatConvolution c = random_float_convolution(random);
    const ElementSum sum = sum_of(c);
    const AdmissibleSet set = float_convolution_set(sum, c.parameters, accuracy);
    const std::int32_t value = convolve_in_float(c, operations);
    ASSERT_TRUE(set.contains(value)) << value << " is not in " << set.text() << ": "
                                     << describe({sum.accumulator, c.parameters});
    if (!exact_set(sum.accumulator, c.parameters).contains(value)) ++inexact;
    if (!float_set(sum.accumulator, c.parameters).contains(value)) ++beyond_float;
  }
  ::testing::Test::RecordProperty("not_exact", std::to_string(inexact));
  ::testing::Test::RecordProperty("beyond_F_5", std::to_string(beyond_float));
  if (count < 10'000) return;
  EXPECT_GE(inexact, count / 40);
  EXPECT_GE(beyond_float, count / 200);
}

TEST(FloatConvolutionSet, HoldsWhatFloatConvolutionsGive) {
  check_float_convolutions(FloatAccuracy::ieee, 89);
}

TEST(FloatConvolutionSet, HoldsWhatGpuConvolutionsGive) {
  check_float_convolutions(FloatAccuracy::directml, 97);
}

}  // namespace
}  // namespace qconform::reference
