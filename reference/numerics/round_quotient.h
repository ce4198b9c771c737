// Rounding a quotient of integers times a power of two, without floats.
#pragma once

#include <cstdint>

#include "reference/numerics/wide_integer.h"

namespace qconform::reference {

/// Says which integer a magnitude goes to that lies exactly between two.
enum class Ties : std::uint8_t { to_even, away_from_zero, toward_zero };

/// Beyond 2^kSaturatingBits every 8-bit output is saturated, whatever its zero point.
inline constexpr int kSaturatingBits = 13;
inline constexpr std::int32_t kSaturatedMagnitude = std::int32_t{1} << kSaturatingBits;

/// numerator / divisor * 2^exponent rounded to the nearest integer, or kSaturatedMagnitude where it
/// is at least that large. divisor > 0.
///
/// Wide, uint128 or a WideUnsigned, holds every intermediate when numerator has at least one bit
/// less than Wide, and divisor at least fifteen less: what is neither below one half nor saturated
/// is shifted up to at most bits(divisor) + 14 (numerator) or bits(numerator) + 1 (divisor).
template <typename Wide>
[[nodiscard]] constexpr std::int32_t round_quotient(Wide numerator, Wide divisor, int exponent, Ties ties) {
  if (numerator == 0) return 0;
  // numerator/divisor lies in (2^(length-1), 2^(length+1)).
  const int length = bit_length(numerator) - bit_length(divisor);
  if (length + 1 + exponent <= -1) return 0;  // below one half
  if (length - 1 + exponent >= kSaturatingBits) return kSaturatedMagnitude;
  if (exponent >= 0) {
    numerator <<= exponent;
  } else {
    divisor <<= -exponent;
  }
  const Wide quotient = numerator / divisor;
  const Wide remainder = numerator - quotient * divisor;
  const Wide complement = divisor - remainder;
  const bool tie_goes_up = ties == Ties::away_from_zero || (ties == Ties::to_even && (quotient & 1U) != 0);
  const bool up = remainder > complement || (remainder == complement && tie_goes_up);
  const std::int32_t rounded = static_cast<std::int32_t>(quotient) + (up ? 1 : 0);
  return rounded < kSaturatedMagnitude ? rounded : kSaturatedMagnitude;
}

}  // namespace qconform::reference
