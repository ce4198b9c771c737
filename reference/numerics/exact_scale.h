// The factor between a convolution's accumulator and its output, as integers.
#pragma once

#include <cstdint>

#include "reference/numerics/float_parts.h"

namespace qconform::reference {

/// sx * sw / sy = (negative ? -1 : 1) * numerator / denominator * 2^exponent, exactly.
struct ExactScale {
  std::uint64_t numerator;    ///< below 2^48; 0 when sx or sw is 0
  std::uint32_t denominator;  ///< in [1, 2^24)
  int exponent;               ///< in [-402, 357]
  bool negative;
};

/// Scales are finite, y_scale is not 0.
[[nodiscard]] constexpr ExactScale exact_scale(float x_scale, float w_scale, float y_scale) {
  const FloatParts sx = parts_of(x_scale);
  const FloatParts sw = parts_of(w_scale);
  const FloatParts sy = parts_of(y_scale);
  return {std::uint64_t{sx.mantissa} * sw.mantissa, sy.mantissa, sx.exponent + sw.exponent - sy.exponent,
          (sx.negative != sw.negative) != sy.negative};
}

/// |value|, also of the most negative one.
[[nodiscard]] constexpr std::uint64_t magnitude_of(std::int64_t value) {
  return value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

}  // namespace qconform::reference
