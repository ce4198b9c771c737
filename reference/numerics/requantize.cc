#include "reference/numerics/requantize.h"

#include <algorithm>
#include <cmath>

#include "reference/numerics/float_expressions.h"
#include "reference/numerics/float_parts.h"
#include "reference/numerics/round.h"

namespace qconform::reference {

namespace {

std::int32_t requantize_onnx_reference(std::int32_t accumulator, const Requantization& p) {
  const double scaled = static_cast<double>(accumulator) * static_cast<double>(float_multiplier(p));
  const double shifted = scaled + p.y_zero_point;
  const double lo = p.y_range.lo;
  const double hi = p.y_range.hi;
  double clamped = shifted > lo ? shifted : lo;
  clamped = clamped < hi ? clamped : hi;
  return static_cast<std::int32_t>(round_half_even(clamped));
}

std::int32_t requantize_fixed_point(RoundingProfile profile, std::int32_t accumulator, const Requantization& p) {
  const FixedPointMultiplier multiplier = fixed_point_multiplier(p);
  const std::int32_t rounded = profile == RoundingProfile::tflite ? multiply_rounding_twice(accumulator, multiplier)
                                                                  : multiply_rounding_once(accumulator, multiplier);
  return saturate(std::int64_t{rounded} + p.y_zero_point, p.y_range);
}

}  // namespace

float float_multiplier(const Requantization& p) {
  return ort_f32_multiplier(FloatArithmetic(Subnormals::kept), p.x_scale, p.w_scale, p.y_scale);
}

std::int32_t round_scaled_exactly(std::int64_t accumulator, float x_scale, float w_scale, float y_scale) {
  const ExactScale scale = exact_scale(x_scale, w_scale, y_scale);
  const uint128 numerator = uint128{magnitude_of(accumulator)} * scale.numerator;
  const std::int32_t rounded = round_quotient(numerator, uint128{scale.denominator}, scale.exponent, Ties::to_even);
  return (accumulator < 0) != scale.negative ? -rounded : rounded;
}

std::int32_t requantize(RoundingProfile profile, std::int64_t accumulator, const Requantization& parameters) {
  switch (profile) {
    case RoundingProfile::ort_f32: return evaluate(float_expressions().front(), wrap_to_int32(accumulator), parameters);
    case RoundingProfile::onnx_reference: return requantize_onnx_reference(wrap_to_int32(accumulator), parameters);
    case RoundingProfile::tflite:
    case RoundingProfile::tflite_single_rounding:
      return requantize_fixed_point(profile, wrap_to_int32(accumulator), parameters);
    case RoundingProfile::correctly_rounded: break;
  }
  const std::int32_t rounded =
      round_scaled_exactly(accumulator, parameters.x_scale, parameters.w_scale, parameters.y_scale);
  return saturate(std::int64_t{rounded} + parameters.y_zero_point, parameters.y_range);
}

namespace {

constexpr IntegerRange kInt32{INT32_MIN, INT32_MAX};
constexpr std::int64_t kOne = std::int64_t{1} << 31;  // 1 as a mantissa

std::int32_t to_int32(std::int64_t value) {
  return saturate(value, kInt32);
}

}  // namespace

FixedPointMultiplier fixed_point_multiplier(const Requantization& p) {
  return fixed_point_multiplier(static_cast<double>(p.x_scale) * static_cast<double>(p.w_scale) /
                                static_cast<double>(p.y_scale));
}

FixedPointMultiplier fixed_point_multiplier(double multiplier) {
  FixedPointMultiplier result{};
  result.mantissa = static_cast<std::int64_t>(std::round(std::frexp(multiplier, &result.exponent) * 0x1p31));
  if (result.mantissa == kOne || result.mantissa == -kOne) {
    result.mantissa /= 2;
    ++result.exponent;
  }
  if (result.exponent < -31) return {0, 0};
  return result;
}

std::int32_t multiply_rounding_twice(std::int32_t sum, const FixedPointMultiplier& multiplier) {
  const std::int64_t left = std::int64_t{1} << std::clamp(multiplier.exponent, 0, 16);
  const std::int64_t product = to_int32(sum * left) * multiplier.mantissa;
  const std::int64_t nudge = product >= 0 ? kOne / 2 : 1 - kOne / 2;
  const std::int64_t high = (product + nudge) / kOne;
  const int shift = std::max(0, -multiplier.exponent);
  const std::int64_t mask = (std::int64_t{1} << shift) - 1;
  const std::int64_t threshold = mask / 2 + (high < 0 ? 1 : 0);
  return to_int32((high >> shift) + ((high & mask) > threshold ? 1 : 0));
}

std::int32_t multiply_rounding_once(std::int32_t sum, const FixedPointMultiplier& multiplier) {
  const std::int64_t product = sum * multiplier.mantissa;
  const int shift = 31 - multiplier.exponent;
  if (shift <= 0) return product == 0 ? 0 : product > 0 ? INT32_MAX : INT32_MIN;
  return to_int32((product + (std::int64_t{1} << (shift - 1))) >> shift);
}

}  // namespace qconform::reference
