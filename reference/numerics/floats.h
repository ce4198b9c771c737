// Floating point by its bits: parts of a number, exact products and quotients, ties, and formats of 4 to 64 bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "reference/numerics/element.h"
#include "reference/numerics/integers.h"

namespace qconform::reference {

// A finite float32 as the integers it is made of.

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

/// Returns whether `value` is positive and a power of two.
[[nodiscard]] constexpr bool is_power_of_two(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t exponent_and_sign = bits >> 52;
  return exponent_and_sign == 0 ? std::has_single_bit(fraction) : exponent_and_sign < 0x7FF && fraction == 0;
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

// Products and quotients of floats, exactly, and their one rounding; ties.

/// (negative ? -1 : 1) * numerator / denominator * 2^exponent. numerator < 2^106, denominator in
/// [1, 2^53). A zero has numerator 0 and keeps its sign.
struct Ratio {
  bool negative = false;
  uint128 numerator = 0;
  std::uint64_t denominator = 1;
  int exponent = 0;

  [[nodiscard]] bool is_zero() const { return numerator == 0; }
};

/// Arguments are finite; the divisor is not zero. Signs of zeros follow IEEE 754.
[[nodiscard]] Ratio ratio_of(double value);
[[nodiscard]] Ratio product_of(double a, double b);
[[nodiscard]] Ratio quotient_of(double dividend, double divisor);

/// The e with 2^e <= |value| < 2^(e+1); `value` is not zero.
[[nodiscard]] int leading_exponent(const Ratio& value);

/// A magnitude as a number of units, rounded to nearest, ties to even.
struct RoundedMagnitude {
  std::uint64_t units;
  bool is_tie;          ///< the magnitude lay exactly between two integers
  std::uint64_t floor;  ///< the lower one of them
  bool is_whole;        ///< the magnitude is an integer
};

/// |value| / 2^unit, which must be below 2^63.
[[nodiscard]] RoundedMagnitude round_to_unit(const Ratio& value, int unit);

// How near a value comes to the middle between two integers, where rounding rules and roundings show.

enum class TieDistance : std::uint8_t {
  exact,  ///< half an odd integer
  near,   ///< within 1e-4 of one, but not on it
  far,    ///< neither, or so large that every 8-bit output saturates
};

/// Returns how far accumulator * x_scale * w_scale / y_scale is from a tie; finite scales, y_scale not 0, |accumulator|
/// < 2^47.
[[nodiscard]] TieDistance tie_distance(std::int64_t accumulator, float x_scale, float w_scale, float y_scale);

// Floating-point formats of 4 to 64 bits: decoding, and correctly rounded encoding.
//
// A number of a format is (-1)^sign * (1 + mantissa / 2^m) * 2^(exponent - bias), or subnormal,
// (-1)^sign * mantissa / 2^m * 2^(1 - bias), where the exponent field is 0. The formats differ in the
// widths of the fields and in what they give up for NaN, infinity and negative zero.

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

inline constexpr FloatFormat kFloat64{11, 52, 1023, Specials::ieee};
inline constexpr FloatFormat kFloat32{8, 23, 127, Specials::ieee};
inline constexpr FloatFormat kFloat16{5, 10, 15, Specials::ieee};
inline constexpr FloatFormat kBfloat16{8, 7, 127, Specials::ieee};
inline constexpr FloatFormat kFloat8e4m3fn{4, 3, 7, Specials::finite_nan};
inline constexpr FloatFormat kFloat8e4m3fnuz{4, 3, 8, Specials::unsigned_zero_nan};
inline constexpr FloatFormat kFloat8e5m2{5, 2, 15, Specials::ieee};
inline constexpr FloatFormat kFloat8e5m2fnuz{5, 2, 16, Specials::unsigned_zero_nan};
inline constexpr FloatFormat kFloat4e2m1{2, 1, 1, Specials::none};
inline constexpr FloatFormat kFloat8e8m0{8, 0, 127, Specials::powers_of_two};

/// `type` is a floating-point type.
[[nodiscard]] constexpr const FloatFormat& float_format(ElementType type) {
  switch (type) {
    case ElementType::float64: return kFloat64;
    case ElementType::float16: return kFloat16;
    case ElementType::bfloat16: return kBfloat16;
    case ElementType::float8e4m3fn: return kFloat8e4m3fn;
    case ElementType::float8e4m3fnuz: return kFloat8e4m3fnuz;
    case ElementType::float8e5m2: return kFloat8e5m2;
    case ElementType::float8e5m2fnuz: return kFloat8e5m2fnuz;
    case ElementType::float4e2m1: return kFloat4e2m1;
    case ElementType::float8e8m0: return kFloat8e8m0;
    default: return kFloat32;
  }
}

/// Says what becomes of numbers beyond the largest one, and of infinities.
enum class Overflow : std::uint8_t {
  special,   ///< infinity; NaN where the format has none; the largest number where it has neither
  saturate,  ///< the largest number, with the sign
};

[[nodiscard]] bool is_nan(const FloatFormat& format, std::uint64_t bits);
[[nodiscard]] bool is_zero(const FloatFormat& format, std::uint64_t bits);

/// Returns decode() of any pattern, computed from its fields.
[[nodiscard]] double decode_any(const FloatFormat& format, std::uint64_t bits);

/// Returns the value: exact, every format being part of float64. NaN for every NaN pattern.
[[nodiscard]] inline double decode(const FloatFormat& format, std::uint64_t bits) {
  const std::uint64_t magnitude = bits & ~format.sign_bit();
  if (magnitude >> format.mantissa_bits == 0 || magnitude > format.largest()) return decode_any(format, bits);
  // A normal number has the same fields in float64, which has room for both; only the bias differs.
  const std::uint64_t moved = (magnitude << (kFloat64.mantissa_bits - format.mantissa_bits)) +
                              (static_cast<std::uint64_t>(kFloat64.bias - format.bias) << kFloat64.mantissa_bits);
  return std::bit_cast<double>(moved | (bits == magnitude ? 0 : kFloat64.sign_bit()));
}

/// Returns the pattern of the nearest number, ties to the even mantissa; -0 where the format has it. E8M0, which has no
/// mantissa, takes the larger power of two at a tie; below its smallest number lies that number, except for zero, which
/// it has as NaN unless saturating; negative values are NaN.
[[nodiscard]] std::uint64_t encode(const FloatFormat& format, const Ratio& value, Overflow overflow);

/// Returns encode() of any double, by way of a Ratio.
[[nodiscard]] std::uint64_t encode_any(const FloatFormat& format, double value, Overflow overflow);

/// Returns the pattern of the number nearest to any double, by the rules for a Ratio. NaN gives the format's quiet NaN
/// without sign, or the largest number where it has no NaN.
[[nodiscard]] inline std::uint64_t encode(const FloatFormat& format, double value, Overflow overflow) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = bits & ~kFloat64.sign_bit();
  const int exponent = static_cast<int>(magnitude >> kFloat64.mantissa_bits) - kFloat64.bias;
  const int dropped = kFloat64.mantissa_bits - format.mantissa_bits;
  if (dropped > 0 && format.has_sign() && exponent >= format.smallest_exponent()) {
    // A normal number keeps its fields. Less than half a unit of the last place is added before the bits below are
    // dropped, and one bit more where that place is odd, so that ties go to even; a carry moves to the exponent.
    const std::uint64_t nearly_half = (std::uint64_t{1} << (dropped - 1)) - 1;
    const std::uint64_t rounded = (magnitude + nearly_half + (magnitude >> dropped & 1U)) >> dropped;
    const std::uint64_t pattern =
        rounded - (static_cast<std::uint64_t>(kFloat64.bias - format.bias) << format.mantissa_bits);
    if (pattern <= format.largest()) return pattern | (bits == magnitude ? 0 : format.sign_bit());
  }
  return encode_any(format, value, overflow);
}

/// decode(encode(value)) without saturation: the value in a narrower arithmetic.
[[nodiscard]] inline double rounded_to(const FloatFormat& format, double value) {
  return decode(format, encode(format, value, Overflow::special));
}
[[nodiscard]] double rounded_to(const FloatFormat& format, const Ratio& value);

/// Rounds a product or quotient of finite numbers once, to a pattern or a number; `divisor` is not zero.
[[nodiscard]] std::uint64_t encode_product(const FloatFormat& format, double a, double b);
[[nodiscard]] double rounded_quotient(const FloatFormat& format, double dividend, double divisor);

// Stored elements as numbers. Every element type is a subset of float64.

/// The value of a pattern, exactly; NaN and infinities as they are.
[[nodiscard]] inline double value_of(ElementType type, std::uint64_t bits) {
  if (!is_integer(type)) return decode(float_format(type), bits);
  const int width = bits_of(type);
  const auto raw = static_cast<std::int64_t>(bits);
  const bool negative = is_signed_integer(type) && (bits >> (width - 1) & 1U) != 0;
  return static_cast<double>(negative ? raw - (std::int64_t{1} << width) : raw);
}

[[nodiscard]] inline double value_at(ElementType type, std::span<const std::byte> bytes, std::int64_t index) {
  return value_of(type, load_bits(bytes, bits_of(type), index));
}

}  // namespace qconform::reference
