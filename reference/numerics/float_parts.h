// A finite float32 as the integers it is made of, and exact products of scales.
#pragma once

#include <bit>
#include <cstdint>

namespace qconform::reference {

/// value = (negative ? -1 : 1) * mantissa * 2^exponent, exactly. mantissa < 2^24; subnormals and
/// zero included (zero has mantissa 0).
struct FloatParts {
  bool negative;
  std::uint32_t mantissa;
  int exponent;
};

/// `value` must be finite.
[[nodiscard]] constexpr FloatParts parts_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto biased = static_cast<int>((bits >> 23) & 0xFFU);
  const std::uint32_t fraction = bits & 0x7FFFFFU;
  const bool negative = (bits >> 31) != 0;
  if (biased == 0) return {negative, fraction, -149};
  return {negative, fraction | 0x800000U, biased - 150};
}

[[nodiscard]] constexpr bool is_finite(float value) {
  return ((std::bit_cast<std::uint32_t>(value) >> 23) & 0xFFU) != 0xFFU;
}

[[nodiscard]] constexpr bool is_nan(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU) > 0x7F800000U;
}

// The factor between a convolution's accumulator and its output, as integers.

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
