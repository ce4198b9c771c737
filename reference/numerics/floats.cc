#include "reference/numerics/floats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/numerics/integers.h"

namespace qconform::reference {
namespace {

struct DoubleParts {
  bool negative;
  std::uint64_t mantissa;
  int exponent;
};

DoubleParts parts_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto biased = static_cast<int>(bits >> 52 & 0x7FFU);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const bool negative = (bits >> 63) != 0;
  if (biased == 0) return {negative, fraction, -1074};
  return {negative, fraction | std::uint64_t{1} << 52, biased - 1075};
}

}  // namespace

Ratio ratio_of(double value) {
  const DoubleParts parts = parts_of(value);
  return {parts.negative, parts.mantissa, 1, parts.exponent};
}

Ratio product_of(double a, double b) {
  const DoubleParts x = parts_of(a);
  const DoubleParts y = parts_of(b);
  return {x.negative != y.negative, uint128{x.mantissa} * y.mantissa, 1, x.exponent + y.exponent};
}

Ratio quotient_of(double dividend, double divisor) {
  const DoubleParts x = parts_of(dividend);
  const DoubleParts y = parts_of(divisor);
  return {x.negative != y.negative, x.mantissa, y.mantissa, x.exponent - y.exponent};
}

int leading_exponent(const Ratio& value) {
  const uint128 divisor = value.denominator;
  const int length = bit_length(value.numerator) - bit_length(divisor);
  const bool reaches = length >= 0 ? value.numerator >= divisor << length : value.numerator << -length >= divisor;
  return value.exponent + length - (reaches ? 0 : 1);
}

RoundedMagnitude round_to_unit(const Ratio& value, int unit) {
  // Below half a unit. What is left is shifted without loss: the quotient lies in [1/2, 2^63), so the
  // numerator grows to 53 + 63 bits at most, and the divisor to one more than the numerator has.
  if (value.is_zero() || leading_exponent(value) < unit - 1) return {0, false, 0, value.is_zero()};
  uint128 numerator = value.numerator;
  uint128 divisor = value.denominator;
  const int shift = value.exponent - unit;
  if (shift >= 0) {
    numerator <<= shift;
  } else {
    divisor <<= -shift;
  }
  const auto floor = static_cast<std::uint64_t>(numerator / divisor);
  const uint128 remainder = numerator % divisor;
  const uint128 complement = divisor - remainder;
  const bool is_tie = remainder == complement;
  const bool up = remainder > complement || (is_tie && floor % 2 != 0);
  return {floor + (up ? 1 : 0), is_tie, floor, remainder == 0};
}

namespace {

constexpr double kNear = 1e-4;

// Only on a tie do the rules for ties differ.
bool is_exact_tie(const ExactScale& scale, std::uint64_t magnitude) {
  const uint128 numerator = uint128{magnitude} * scale.numerator;
  const uint128 divisor = scale.denominator;
  return round_quotient(numerator, divisor, scale.exponent, Ties::toward_zero) !=
         round_quotient(numerator, divisor, scale.exponent, Ties::away_from_zero);
}

}  // namespace

TieDistance tie_distance(std::int64_t accumulator, float x_scale, float w_scale, float y_scale) {
  const double multiplier = static_cast<double>(x_scale) * w_scale / y_scale;
  const double magnitude = std::fabs(static_cast<double>(accumulator) * multiplier);
  if (!(magnitude < kSaturatedMagnitude)) return TieDistance::far;
  // In double the error is far below kNear, so that no exact tie is missed.
  const double fraction = magnitude - std::floor(magnitude);
  if (std::fabs(fraction - 0.5) > kNear) return TieDistance::far;
  return is_exact_tie(exact_scale(x_scale, w_scale, y_scale), magnitude_of(accumulator)) ? TieDistance::exact
                                                                                         : TieDistance::near;
}

namespace {

std::uint64_t nan_of(const FloatFormat& format) {
  switch (format.specials) {
    case Specials::ieee: return format.largest() + 1 + (std::uint64_t{1} << (format.mantissa_bits - 1));
    case Specials::unsigned_zero_nan: return format.sign_bit();
    case Specials::finite_nan:
    case Specials::powers_of_two: return format.largest() + 1;
    case Specials::none: break;
  }
  return format.largest();
}

std::uint64_t overflowed(const FloatFormat& format, bool negative, Overflow overflow) {
  const std::uint64_t sign = negative ? format.sign_bit() : 0;
  if (overflow == Overflow::saturate || format.specials == Specials::none) return sign | format.largest();
  // Infinity and the NaN of the FN formats follow the largest number; the other NaNs have no sign.
  const bool follows = format.specials == Specials::ieee || format.specials == Specials::finite_nan;
  return follows ? sign | (format.largest() + 1) : nan_of(format);
}

std::uint64_t encode_power_of_two(const FloatFormat& format, const Ratio& value, Overflow overflow) {
  if (value.is_zero()) return overflow == Overflow::saturate ? 0 : nan_of(format);
  if (value.negative) return nan_of(format);
  const int leading = leading_exponent(value);
  const bool up = round_to_unit(value, leading).units > 1;
  const int code = std::max(0, leading + (up ? 1 : 0) + format.bias);
  if (code > static_cast<int>(format.largest())) return overflowed(format, false, overflow);
  return static_cast<std::uint64_t>(code);
}

}  // namespace

bool is_nan(const FloatFormat& format, std::uint64_t bits) {
  const std::uint64_t magnitude = bits & ~format.sign_bit();
  switch (format.specials) {
    case Specials::ieee: return magnitude > format.largest() + 1;
    case Specials::unsigned_zero_nan: return bits == format.sign_bit();
    case Specials::finite_nan:
    case Specials::powers_of_two: return magnitude > format.largest();
    case Specials::none: break;
  }
  return false;
}

bool is_zero(const FloatFormat& format, std::uint64_t bits) {
  return format.has_sign() && (bits & ~format.sign_bit()) == 0 && !is_nan(format, bits);
}

double decode_any(const FloatFormat& format, std::uint64_t bits) {
  if (is_nan(format, bits)) return std::numeric_limits<double>::quiet_NaN();
  const bool negative = (bits & format.sign_bit()) != 0;
  const std::uint64_t magnitude = bits & ~format.sign_bit();
  if (magnitude > format.largest()) return negative ? -HUGE_VAL : HUGE_VAL;
  const auto field = static_cast<int>(magnitude >> format.mantissa_bits);
  const std::uint64_t one = std::uint64_t{1} << format.mantissa_bits;
  const std::uint64_t mantissa = magnitude & (one - 1);
  const bool is_normal = field != 0 || !format.has_sign();
  const auto significand = static_cast<double>(is_normal ? mantissa + one : mantissa);
  const int exponent = is_normal ? field - format.bias : format.smallest_exponent();
  const double value = std::ldexp(significand, exponent - format.mantissa_bits);
  return negative ? -value : value;
}

std::uint64_t encode(const FloatFormat& format, const Ratio& value, Overflow overflow) {
  if (!format.has_sign()) return encode_power_of_two(format, value, overflow);
  const bool keeps_sign_of_zero = format.specials != Specials::unsigned_zero_nan;
  const std::uint64_t sign = value.negative ? format.sign_bit() : 0;
  if (value.is_zero()) return keeps_sign_of_zero ? sign : 0;
  const int leading = std::max(leading_exponent(value), format.smallest_exponent());
  const int largest_field = (1 << format.exponent_bits) - 1;
  if (leading - format.smallest_exponent() >= largest_field) return overflowed(format, value.negative, overflow);
  // The units of the last place, the leading one included, added to the exponent field below the
  // number's: subnormals have field 0 without a leading one, and a carry moves to the next exponent.
  const std::uint64_t units = round_to_unit(value, leading - format.mantissa_bits).units;
  const auto field = static_cast<std::uint64_t>(leading - format.smallest_exponent());
  const std::uint64_t magnitude = (field << format.mantissa_bits) + units;
  if (magnitude > format.largest()) return overflowed(format, value.negative, overflow);
  return magnitude == 0 && !keeps_sign_of_zero ? 0 : sign | magnitude;
}

std::uint64_t encode_any(const FloatFormat& format, double value, Overflow overflow) {
  if (std::isnan(value)) return nan_of(format);
  if (!std::isinf(value)) return encode(format, ratio_of(value), overflow);
  if (!format.has_sign() && value < 0) return nan_of(format);
  return overflowed(format, value < 0, overflow);
}

double rounded_to(const FloatFormat& format, const Ratio& value) {
  // Quotients that have been rounded are integers of 53 bits times a power of two: doubles, where that is normal.
  const bool is_double =
      value.denominator == 1 && value.numerator >> 53 == 0 && value.exponent > -1000 && value.exponent < 900;
  if (is_double) {
    const double magnitude =
        std::ldexp(static_cast<double>(static_cast<std::uint64_t>(value.numerator)), value.exponent);
    return rounded_to(format, value.negative ? -magnitude : magnitude);
  }
  return decode(format, encode(format, value, Overflow::special));
}

namespace {

bool are_floats(double a, double b) {
  return static_cast<double>(static_cast<float>(a)) == a && static_cast<double>(static_cast<float>(b)) == b;
}

}  // namespace

std::uint64_t encode_product(const FloatFormat& format, double a, double b) {
  // Numbers of 24 bits have a product of 48, which double holds, exponents included.
  return are_floats(a, b) ? encode(format, a * b, Overflow::special)
                          : encode(format, product_of(a, b), Overflow::special);
}

double rounded_quotient(const FloatFormat& format, double dividend, double divisor) {
  // In double first: formats of at most 24 bits round at numbers of at most 25. A quotient of numbers of 24 bits that
  // is not such a number differs from it by at least one part in 2^49, being the quotient of an integer of at least 1
  // and one of at most 24 + 25 bits; rounding to double moves it by at most one in 2^52, in whichever direction the
  // processor rounds. So it comes to lie neither on such a number nor beyond it.
  const bool is_apart = format.mantissa_bits < kFloat64.mantissa_bits && are_floats(dividend, divisor);
  return is_apart ? rounded_to(format, dividend / divisor) : rounded_to(format, quotient_of(dividend, divisor));
}

}  // namespace qconform::reference
