#include "reference/numerics/requantize.h"

#include "reference/numerics/exact_scale.h"
#include "reference/numerics/fixed_point.h"
#include "reference/numerics/float_expressions.h"
#include "reference/numerics/round.h"
#include "reference/numerics/round_quotient.h"
#include "reference/numerics/saturate.h"

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

}  // namespace qconform::reference
