// A finite float32 as the integers it is made of.
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

}  // namespace qconform::reference
