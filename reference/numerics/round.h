// Rounding, saturation and wrapping to integers, independent of the processor's rounding mode.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/numerics/element.h"
#include "reference/numerics/wide_integer.h"

namespace qconform::reference {

/// rne(value). NaN and infinities come back as they are; the sign of zero is not kept.
/// Works for float and double: `value - trunc(value)` is exact in binary floating point.
template <typename Float>
[[nodiscard]] Float round_half_even(Float value) {
  const Float whole = std::trunc(value);
  const Float fraction = std::fabs(value - whole);
  if (!(fraction >= Float{0.5})) return whole;
  const Float away = whole + std::copysign(Float{1}, value);
  if (fraction > Float{0.5}) return away;
  const bool whole_is_even = std::trunc(whole / 2) * 2 == whole;
  return whole_is_even ? whole : away;
}

// Rounding a quotient of integers times a power of two, without floats.

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

// Saturation and two's-complement wrap.

/// clamp(value, lo, hi)
[[nodiscard]] constexpr std::int32_t saturate(std::int64_t value, IntegerRange range) {
  return static_cast<std::int32_t>(
      std::clamp(value, static_cast<std::int64_t>(range.lo), static_cast<std::int64_t>(range.hi)));
}

/// The value modulo 2^32, in [-2^31, 2^31): what a 32-bit accumulator holds (rule C17).
[[nodiscard]] constexpr std::int32_t wrap_to_int32(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value & 0xFFFFFFFF));
}

// Division that rounds up.

/// Returns the quotient of any numerator and a positive divisor, rounded up; nothing overflows.
constexpr std::int64_t ceil_div(std::int64_t numerator, std::int64_t positive) {
  return numerator / positive + (numerator % positive > 0 ? 1 : 0);
}

/// The integer that `value` is; 0 of NaN and of a value that 64 bits do not hold, which a graph out of contract may
/// hand to an integer tensor.
[[nodiscard]] constexpr std::int64_t integer_or_zero(double value) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  return value >= -kEnd && value < kEnd ? static_cast<std::int64_t>(value) : 0;
}

}  // namespace qconform::reference
