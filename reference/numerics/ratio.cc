#include "reference/numerics/ratio.h"

#include <bit>
#include <cmath>

#include "reference/numerics/float_parts.h"
#include "reference/numerics/round.h"

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

}  // namespace qconform::reference
