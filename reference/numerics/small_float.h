// Floating-point formats of 4 to 64 bits: decoding, and correctly rounded encoding.
//
// A number of a format is (-1)^sign * (1 + mantissa / 2^m) * 2^(exponent - bias), or subnormal,
// (-1)^sign * mantissa / 2^m * 2^(1 - bias), where the exponent field is 0. The formats differ in the
// widths of the fields and in what they give up for NaN, infinity and negative zero.
#pragma once

#include <cstdint>

#include "reference/numerics/element.h"
#include "reference/numerics/ratio.h"

namespace qconform::reference {

/// The bit patterns that are no numbers.
enum class Specials : std::uint8_t {
  ieee,               ///< exponent all ones: infinity, and NaN where the mantissa is not 0
  finite_nan,         ///< exponent and mantissa all ones: NaN; no infinity            (the "FN" formats)
  unsigned_zero_nan,  ///< the pattern of -0: NaN; no infinity, no negative zero  (the "FNUZ" formats)
  none,               ///< every pattern is a number
  powers_of_two,      ///< no sign, no mantissa, no zero, no subnormals; all ones: NaN      (E8M0)
};

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;

  [[nodiscard]] constexpr bool has_sign() const { return specials != Specials::powers_of_two; }
  [[nodiscard]] constexpr int bits() const { return (has_sign() ? 1 : 0) + exponent_bits + mantissa_bits; }
  /// The exponent of the smallest normal number.
  [[nodiscard]] constexpr int smallest_exponent() const { return has_sign() ? 1 - bias : -bias; }
  [[nodiscard]] constexpr std::uint64_t sign_bit() const {
    return has_sign() ? std::uint64_t{1} << (exponent_bits + mantissa_bits) : 0;
  }
  /// The pattern of the largest finite number.
  [[nodiscard]] constexpr std::uint64_t largest() const {
    const std::uint64_t ones = (std::uint64_t{1} << (exponent_bits + mantissa_bits)) - 1;
    switch (specials) {
      case Specials::ieee: return ones - (std::uint64_t{1} << mantissa_bits);
      case Specials::finite_nan:
      case Specials::powers_of_two: return ones - 1;
      case Specials::unsigned_zero_nan:
      case Specials::none: break;
    }
    return ones;
  }
};

/// `type` is a floating-point type.
[[nodiscard]] const FloatFormat& float_format(ElementType type);

/// Says what becomes of numbers beyond the largest one, and of infinities.
enum class Overflow : std::uint8_t {
  special,   ///< infinity; NaN where the format has none; the largest number where it has neither
  saturate,  ///< the largest number, with the sign
};

[[nodiscard]] bool is_nan(const FloatFormat& format, std::uint64_t bits);
[[nodiscard]] bool is_zero(const FloatFormat& format, std::uint64_t bits);

/// Returns the value: exact, every format being part of float64. NaN for every NaN pattern.
[[nodiscard]] double decode(const FloatFormat& format, std::uint64_t bits);

/// Returns the pattern of the nearest number, ties to the even mantissa; -0 where the format has it. E8M0, which has no
/// mantissa, takes the larger power of two at a tie; below its smallest number lies that number, except for zero, which
/// it has as NaN unless saturating; negative values are NaN.
[[nodiscard]] std::uint64_t encode(const FloatFormat& format, const Ratio& value, Overflow overflow);

/// Returns the pattern of the number nearest to any double, by the rules for a Ratio. NaN gives the format's quiet NaN
/// without sign, or the largest number where it has no NaN.
[[nodiscard]] std::uint64_t encode(const FloatFormat& format, double value, Overflow overflow);

/// decode(encode(value)) without saturation: the value in a narrower arithmetic.
[[nodiscard]] double rounded_to(const FloatFormat& format, double value);
[[nodiscard]] double rounded_to(const FloatFormat& format, const Ratio& value);

}  // namespace qconform::reference
