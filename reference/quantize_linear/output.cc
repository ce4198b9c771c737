#include "reference/quantize_linear/output.h"

#include <cmath>

#include "reference/numerics/round.h"
#include "reference/numerics/small_float.h"

namespace qconform::reference {
namespace {

// Beyond 2^40 every integer output is saturated, whatever its zero point.
constexpr int kSaturatingExponent = 40;

// The low bits that store rounded + zero point in an integer type of at most 16 bits.
std::uint64_t integer_bits(const QuantizeLinear& node, std::size_t parameter, std::int64_t rounded) {
  const std::int32_t value = saturate(rounded + node.y_zero_point[parameter], range_of(node.y_type));
  const std::uint64_t mask = (std::uint64_t{1} << bits_of(node.y_type)) - 1;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & mask;
}

// The quotient as an integer: ties to even, or to the other side.
std::int64_t rounded(const Quotient& quotient, bool other_side) {
  const std::int64_t sign = quotient.value.negative ? -1 : 1;
  const bool is_huge = quotient.kind == Quotient::Kind::infinite ||
                       (!quotient.is_zero() && leading_exponent(quotient.value) >= kSaturatingExponent);
  if (is_huge) return sign * (std::int64_t{1} << kSaturatingExponent);
  const RoundedMagnitude magnitude = round_to_unit(quotient.value, 0);
  const std::uint64_t other = magnitude.units == magnitude.floor ? magnitude.floor + 1 : magnitude.floor;
  return sign * static_cast<std::int64_t>(other_side && magnitude.is_tie ? other : magnitude.units);
}

std::uint64_t float_bits(const QuantizeLinear& node, const Quotient& quotient) {
  const FloatFormat& format = float_format(node.y_type);
  const Overflow overflow = node.saturate ? Overflow::saturate : Overflow::special;
  switch (quotient.kind) {
    case Quotient::Kind::finite: return encode(format, quotient.value, overflow);
    case Quotient::Kind::infinite: return encode(format, quotient.value.negative ? -HUGE_VAL : HUGE_VAL, overflow);
    case Quotient::Kind::nan: break;
  }
  return encode(format, std::nan(""), overflow);
}

}  // namespace

std::uint64_t output_bits(const QuantizeLinear& node, std::size_t parameter, const Quotient& quotient) {
  if (!is_integer(node.y_type)) return float_bits(node, quotient);
  const bool is_nan = quotient.kind == Quotient::Kind::nan;
  return integer_bits(node, parameter, is_nan ? 0 : rounded(quotient, false));
}

std::uint64_t other_output_bits(const QuantizeLinear& node, std::size_t parameter, const Quotient& quotient) {
  return integer_bits(node, parameter, rounded(quotient, true));
}

bool divides_in_float32(const QuantizeLinear& node) {
  const bool has_wide_x = node.x_type == ElementType::float32 || node.x_type == ElementType::int32;
  return has_wide_x && node.scale_type != ElementType::int32 && division_type(node) == ElementType::float32;
}

}  // namespace qconform::reference
