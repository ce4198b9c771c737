#include "reference/linear_quantization/quantize_linear.h"

#include <cmath>

#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform::reference {
namespace {

Quotient quotient_from(double value) {
  if (std::isnan(value)) return {Quotient::Kind::nan, {}};
  if (std::isinf(value)) return {Quotient::Kind::infinite, Ratio{.negative = value < 0}};
  return {Quotient::Kind::finite, ratio_of(value)};
}

bool divides_finitely(double x, double scale) {
  return std::isfinite(x) && std::isfinite(scale) && scale != 0;
}

// Rounds a scale. One that the type cannot hold stays as it is: the quotient would lose all meaning.
double rounded_scale(const FloatFormat& format, double scale) {
  const double rounded = rounded_to(format, scale);
  return rounded != 0 && std::isfinite(rounded) ? rounded : scale;
}

// Returns RN(x / scale). IEEE's rules for zeros, infinities and NaN are the same in every format.
double quotient_in(const FloatFormat& format, double x, double scale) {
  return divides_finitely(x, scale) ? rounded_quotient(format, x, scale) : x / scale;
}

// Returns RN(x * RN(1 / scale)).
double product_in(const FloatFormat& format, double x, double scale) {
  if (!divides_finitely(x, scale)) return x / scale;
  const double reciprocal = rounded_quotient(format, 1, scale);
  return std::isinf(reciprocal) ? x * reciprocal : decode(format, encode_product(format, x, reciprocal));
}

// Rounds a quotient to an integer of `range`.
template <typename Float>
std::int32_t quantized(Float quotient, std::int32_t zero_point, IntegerRange range) {
  if (std::isnan(quotient)) return zero_point;
  // Clamping to bounds that are integers before rounding changes nothing, and keeps the conversion
  // to an integer defined for infinite and huge quotients.
  const auto lo = static_cast<Float>(range.lo - zero_point);
  const auto hi = static_cast<Float>(range.hi - zero_point);
  const Float clamped = quotient < lo ? lo : (quotient > hi ? hi : quotient);
  return static_cast<std::int32_t>(round_half_even(clamped)) + zero_point;
}

}  // namespace

std::int32_t quantize(float x, float scale, std::int32_t zero_point, IntegerRange range) {
  return quantized(x / scale, zero_point, range);
}

void quantize_linear(const QuantizeLinear& node, std::span<const std::byte> x, std::span<std::byte> y) {
  const bool in_float32 = divides_in_float32(node);
  // The operands are rounded to it first: the first way of Divisions.
  const FloatFormat& division = float_format(division_type(node));
  std::vector<double> scales = node.y_scale;
  for (double& scale : scales) scale = rounded_scale(division, scale);
  const int y_bits = bits_of(node.y_type);
  const bool has_integers = is_integer(node.y_type);
  const IntegerRange range = has_integers ? range_of(node.y_type) : IntegerRange{};
  const FloatFormat& output = float_format(node.y_type);
  const Overflow overflow = node.saturate ? Overflow::saturate : Overflow::special;
  // Copies of all that the loop needs: bytes of y might be these otherwise.
  const auto store = [=, scale_of = scales.data(), zero_point_of = node.y_zero_point.data()](
                         std::int64_t i, std::size_t parameter, double value) {
    const double scale = scale_of[parameter];
    const double quotient = in_float32 ? static_cast<double>(static_cast<float>(value) / static_cast<float>(scale))
                                       : quotient_in(division, rounded_to(division, value), scale);
    const std::uint64_t bits = has_integers
                                   ? static_cast<std::uint64_t>(quantized(quotient, zero_point_of[parameter], range))
                                   : encode(output, quotient, overflow);
    store_bits(y, y_bits, i, bits);
  };
  for_each_value(node.layout, node.x_type, x, store);
}

ElementType division_type(const QuantizeLinear& node) {
  for (const ElementType type : {node.precision, node.scale_type, node.x_type}) {
    if (is_wide_float(type)) return type;
    if (type == ElementType::int32) break;
  }
  return ElementType::float32;
}

Quotient divide(const Division& division, double x, double scale) {
  const FloatFormat& format = float_format(division.type);
  switch (division.method) {
    case DivisionMethod::exact:
      return divides_finitely(x, scale) ? Quotient{Quotient::Kind::finite, quotient_of(x, scale)}
                                        : quotient_from(x / scale);
    case DivisionMethod::once: return quotient_from(quotient_in(format, x, scale));
    case DivisionMethod::operands_rounded:
      return quotient_from(quotient_in(format, rounded_to(format, x), rounded_scale(format, scale)));
    case DivisionMethod::reciprocal: break;
  }
  return quotient_from(product_in(format, rounded_to(format, x), rounded_scale(format, scale)));
}

Divisions::Divisions(const QuantizeLinear& node, Wording wording) {
  const ElementType type = division_type(node);
  const bool is_narrow = is_16bit_float(type);
  const bool has_integers = node.x_type == ElementType::int32 || node.scale_type == ElementType::int32;
  const bool is_stated = node.version >= 23 && node.scale_type != ElementType::float8e8m0;
  const char* const rule = has_integers ? "Q6" : is_narrow || node.version >= 23 ? "Q3" : "Q1";
  add(DivisionMethod::operands_rounded, type, rule);
  if (has_integers) {
    add(DivisionMethod::operands_rounded, ElementType::float32, rule);
    add(DivisionMethod::once, ElementType::float64, rule);
    add(DivisionMethod::exact, type, rule);
  } else if (!is_stated && node.precision == ElementType::undefined) {
    if (is_narrow) add(DivisionMethod::once, ElementType::float32, rule);
    add(DivisionMethod::exact, type, rule);
  }
  // Operands wider than the division: whether they are rounded first is not stated.
  if (is_narrow && (node.x_type != type || node.scale_type != type)) add(DivisionMethod::once, type, rule);
  if (wording == Wording::directml) add(DivisionMethod::reciprocal, type, "Q1");
}

namespace {

// Beyond 2^40 every integer output is saturated, whatever its zero point.
constexpr int kSaturatingExponent = 40;

// The low bits that store rounded + zero point in an integer type of at most 16 bits.
std::uint64_t integer_bits(const QuantizeLinear& node, std::size_t parameter, std::int64_t rounded) {
  return integer_pattern(node.y_type, saturate(rounded + node.y_zero_point[parameter], range_of(node.y_type)));
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

namespace {

// Admits all values that ONNX's tables of casts to float8 and float4 leave open, or changed between versions.
void admit_float_specials(const QuantizeLinear& node, const Quotient& quotient, RightValues& result) {
  const FloatFormat& format = float_format(node.y_type);
  if (quotient.kind == Quotient::Kind::nan) {
    // float4e2m1 has no NaN.
    if (format.specials == Specials::none) return result.admit_any_value("Q5");
    return result.admit_any_nan("Q8");
  }
  // -0 stays -0 by the tables; adding a zero point of +0, as the formula has it, makes it +0.
  if (quotient.is_zero() && quotient.value.negative) result.admit_either_zero("Q8");
  const bool has_one_nan = format.specials == Specials::unsigned_zero_nan;
  if (quotient.kind == Quotient::Kind::infinite && has_one_nan && node.version < 24) result.admit_any_nan("Q8");
  if (!node.saturate && is_nan(format, output_bits(node, 0, quotient))) result.admit_any_nan("Q8");
}

}  // namespace

RightValues admissible_quantize(const QuantizeLinear& node, std::uint64_t x_bits, std::size_t parameter,
                                Wording wording) {
  RightValues result{.type = node.y_type};
  const double x = value_of(node.x_type, x_bits);
  const double scale = node.y_scale[parameter];
  if (!std::isfinite(scale) || scale == 0) result.admit_any_value("C21");
  const Divisions divisions(node, wording);
  for (const Division& division : divisions.list()) {
    const Quotient quotient = divide(division, x, scale);
    result.admit(output_bits(node, parameter, quotient), division.rule);
    if (!is_integer(node.y_type)) {
      admit_float_specials(node, quotient, result);
    } else if (quotient.kind == Quotient::Kind::nan) {
      result.admit_any_value("Q5");
    } else if (wording == Wording::directml) {
      result.admit(other_output_bits(node, parameter, quotient), "Q1");
    }
  }
  return result;
}

}  // namespace qconform::reference
