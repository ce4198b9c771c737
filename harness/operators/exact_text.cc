#include "harness/operators/exact_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/numerics/float_parts.h"
#include "reference/numerics/wide_integer.h"

namespace qconform {
namespace {

using reference::bit_length;
using reference::uint128;

constexpr std::uint64_t kReadableDenominator = 1'000'000;

std::string fraction_text(std::uint64_t whole, std::uint64_t remainder, std::uint64_t divisor, bool negative) {
  const char* sign = negative ? "-" : "";
  if (remainder == 0) return fmt::format("{}{}", sign, whole);
  const std::uint64_t common = std::gcd(remainder, divisor);
  if (divisor / common <= kReadableDenominator) {
    const std::string fraction = fmt::format("{}/{}", remainder / common, divisor / common);
    if (whole == 0) return sign + fraction;
    return negative ? fmt::format("-({} + {})", whole, fraction) : fmt::format("{} + {}", whole, fraction);
  }
  const double decimal = static_cast<double>(remainder) / static_cast<double>(divisor);
  // Shown as the integer part and the fraction separately, so that a fraction near one half keeps its digits.
  return fmt::format("{}{} + {:.12f}", negative ? "-(" : "", whole, decimal) + (negative ? ")" : "");
}

}  // namespace

std::string scaled_value_text(std::int64_t accumulator, float x_scale, float w_scale, float y_scale) {
  const auto sx = reference::parts_of(x_scale);
  const auto sw = reference::parts_of(w_scale);
  const auto sy = reference::parts_of(y_scale);
  const bool negative = ((accumulator < 0) != sx.negative) != (sw.negative != sy.negative);
  uint128 numerator =
      uint128{static_cast<std::uint64_t>(std::abs(accumulator))} * (std::uint64_t{sx.mantissa} * sw.mantissa);
  uint128 divisor = sy.mantissa;
  int exponent = sx.exponent + sw.exponent - sy.exponent;
  // Common powers of two leave the numerator, so that ordinary scales end in short fractions.
  while (exponent < 0 && numerator != 0 && (numerator & 1U) == 0) {
    numerator >>= 1;
    ++exponent;
  }
  const int divisor_bits = bit_length(divisor) + std::max(0, -exponent);
  const int numerator_bits = bit_length(numerator) + std::max(0, exponent);
  if (divisor_bits > 63 || numerator_bits > 120 || numerator_bits - divisor_bits > 62) {
    return fmt::format("about {:.17g}", static_cast<double>(accumulator) * x_scale * w_scale / y_scale);
  }
  if (exponent >= 0) {
    numerator <<= exponent;
  } else {
    divisor <<= -exponent;
  }
  return fraction_text(static_cast<std::uint64_t>(numerator / divisor), static_cast<std::uint64_t>(numerator % divisor),
                       static_cast<std::uint64_t>(divisor), negative);
}

}  // namespace qconform
