#include "harness/model/draws/tie_solver.h"

#include <bit>
#include <cmath>
#include <cstdlib>

#include "reference/numerics/float_parts.h"
#include "reference/numerics/small_float.h"

namespace qconform {

float tie_scale(std::int64_t sum, float x_scale, float w_scale, std::int64_t half_steps) {
  const reference::FloatParts sx = reference::parts_of(x_scale);
  const reference::FloatParts sw = reference::parts_of(w_scale);
  const std::uint64_t mantissas = std::uint64_t{sx.mantissa} * sw.mantissa;
  const reference::Ratio ratio{
      .negative = false,
      .numerator = reference::uint128{reference::magnitude_of(sum)} * reference::uint128{mantissas},
      .denominator = static_cast<std::uint64_t>(half_steps),
      .exponent = sx.exponent + sw.exponent + 1};
  const auto bits = encode(reference::float_format(ElementType::float32), ratio, reference::Overflow::saturate);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

std::optional<float> carry_scale(float x_scale, float w_scale, int exponent) {
  const double wanted = std::ldexp(double{x_scale} * double{w_scale}, -exponent);  // has 48 bits
  auto scale = static_cast<float>(wanted);
  if (double{scale} <= wanted) scale = neighbour(scale, 1);
  const double above = double{scale} - wanted;  // exact: they are neighbours
  return above <= double{scale} * 0x1p-32 ? std::optional(scale) : std::nullopt;
}

float neighbour(float value, std::int64_t steps) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) + static_cast<std::uint32_t>(steps));
}

bool is_near_tie(std::int64_t sum, float x_scale, float w_scale, float y_scale) {
  if (sum == 0) return false;
  // Two roundings to 53 bits tell which tie is meant: far finer than the 24 bits of a scale.
  const double value = static_cast<double>(std::abs(sum)) * (double{x_scale} * double{w_scale}) / double{y_scale};
  if (!(value < 1024)) return false;
  const auto whole = static_cast<std::int64_t>(value);
  // Two units in the last place of a normal y_scale, and the solved one's rounding, are less than 2^-21 of it, unless
  // the solved one is saturated.
  const double tie = static_cast<double>(whole) + 0.5;
  const bool is_ordinary = y_scale >= 0x1p-126F && y_scale < 0x1p126F;
  if (is_ordinary && std::fabs(value - tie) > tie * 0x1p-20) return false;
  const float solved = tie_scale(sum, x_scale, w_scale, 2 * whole + 1);
  const std::int64_t off = std::int64_t{std::bit_cast<std::int32_t>(y_scale)} - std::bit_cast<std::int32_t>(solved);
  return off >= -2 && off <= 2;
}

}  // namespace qconform
