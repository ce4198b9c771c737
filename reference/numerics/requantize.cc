#include "reference/numerics/requantize.h"

#include <algorithm>

#include "reference/numerics/float_parts.h"
#include "reference/numerics/round.h"
#include "reference/numerics/saturate.h"
#include "reference/numerics/uint128.h"

namespace qconform::reference {
namespace {

// Beyond this magnitude every 8-bit output is saturated, whatever its zero point.
constexpr int kSaturatingBits = 13;

// rne(numerator * 2^exponent / denominator) for positive numerator and denominator, or
// 2^kSaturatingBits where the quotient is at least that large. Integers only.
std::int32_t round_quotient(uint128 numerator, std::uint32_t denominator, int exponent) {
  // numerator/denominator lies in (2^(length-1), 2^(length+1)).
  const int length = bit_length(numerator) - bit_length(denominator);
  if (length + 1 + exponent <= -1) return 0;                                                // below one half
  if (length - 1 + exponent >= kSaturatingBits) return std::int32_t{1} << kSaturatingBits;  // far out of range
  // What is left has few enough bits to shift without loss: at most 24 + 14 bits upward, and a
  // denominator at most two bits longer than the numerator.
  uint128 divisor = denominator;
  if (exponent >= 0) {
    numerator <<= exponent;
  } else {
    divisor <<= -exponent;
  }
  uint128 quotient = numerator / divisor;
  const uint128 remainder = numerator % divisor;
  const uint128 complement = divisor - remainder;
  if (remainder > complement || (remainder == complement && (quotient & 1U) != 0)) ++quotient;
  return static_cast<std::int32_t>(std::min(quotient, uint128{1} << kSaturatingBits));
}

std::int32_t requantize_ort_f32(std::int32_t accumulator, const Requantization& p) {
  const float scaled = static_cast<float>(accumulator) * float_multiplier(p);
  const auto lo = static_cast<float>(p.y_range.lo - p.y_zero_point);
  const auto hi = static_cast<float>(p.y_range.hi - p.y_zero_point);
  // Written so that NaN (0 * inf, outside the scales' sane domain) ends at lo, as a SIMD maximum
  // with the bound as its second operand does.
  float clamped = scaled > lo ? scaled : lo;
  clamped = clamped < hi ? clamped : hi;
  return static_cast<std::int32_t>(round_half_even(clamped)) + p.y_zero_point;
}

std::int32_t requantize_onnx_reference(std::int32_t accumulator, const Requantization& p) {
  const double scaled = static_cast<double>(accumulator) * static_cast<double>(float_multiplier(p));
  const double shifted = scaled + p.y_zero_point;
  const double lo = p.y_range.lo;
  const double hi = p.y_range.hi;
  double clamped = shifted > lo ? shifted : lo;
  clamped = clamped < hi ? clamped : hi;
  return static_cast<std::int32_t>(round_half_even(clamped));
}

}  // namespace

float float_multiplier(const Requantization& p) {
  const float product = p.x_scale * p.w_scale;
  return product / p.y_scale;
}

std::int32_t round_scaled_exactly(std::int64_t accumulator, float x_scale, float w_scale, float y_scale) {
  const FloatParts sx = parts_of(x_scale);
  const FloatParts sw = parts_of(w_scale);
  const FloatParts sy = parts_of(y_scale);
  const bool negative = ((accumulator < 0) != sx.negative) != (sw.negative != sy.negative);
  const auto magnitude = accumulator < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(accumulator)
                                         : static_cast<std::uint64_t>(accumulator);
  const uint128 numerator = uint128{magnitude} * (std::uint64_t{sx.mantissa} * sw.mantissa);
  if (numerator == 0) return 0;
  const std::int32_t rounded = round_quotient(numerator, sy.mantissa, sx.exponent + sw.exponent - sy.exponent);
  return negative ? -rounded : rounded;
}

std::int32_t requantize(RoundingProfile profile, std::int64_t accumulator, const Requantization& parameters) {
  switch (profile) {
    case RoundingProfile::ort_f32: return requantize_ort_f32(wrap_to_int32(accumulator), parameters);
    case RoundingProfile::onnx_reference: return requantize_onnx_reference(wrap_to_int32(accumulator), parameters);
    case RoundingProfile::correctly_rounded: break;
  }
  const std::int32_t rounded =
      round_scaled_exactly(accumulator, parameters.x_scale, parameters.w_scale, parameters.y_scale);
  return saturate(std::int64_t{rounded} + parameters.y_zero_point, parameters.y_range);
}

}  // namespace qconform::reference
