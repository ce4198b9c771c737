#include "reference/quantize_linear/division.h"

#include <cmath>

#include "reference/numerics/small_float.h"

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

// A float type that carries data: what can be a precision.
bool is_arithmetic(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float16 || type == ElementType::bfloat16 ||
         type == ElementType::float64;
}

}  // namespace

ElementType division_type(const QuantizeLinear& node) {
  for (const ElementType type : {node.precision, node.scale_type, node.x_type}) {
    if (is_arithmetic(type)) return type;
    if (type == ElementType::int32) break;
  }
  return ElementType::float32;
}

Quotient divide(const Division& division, double x, double scale) {
  const FloatFormat& format = float_format(division.type);
  if (division.method == DivisionMethod::operands_rounded || division.method == DivisionMethod::reciprocal) {
    x = rounded_to(format, x);
    // A scale that the type cannot hold stays as it is: the quotient would lose all meaning.
    const double rounded_scale = rounded_to(format, scale);
    if (rounded_scale != 0 && std::isfinite(rounded_scale)) scale = rounded_scale;
  }
  // IEEE's rules for zeros, infinities and NaN are the same in every format.
  if (!divides_finitely(x, scale)) return quotient_from(x / scale);
  if (division.method == DivisionMethod::exact) return {Quotient::Kind::finite, quotient_of(x, scale)};
  if (division.method != DivisionMethod::reciprocal) return quotient_from(rounded_to(format, quotient_of(x, scale)));
  const double reciprocal = rounded_to(format, quotient_of(1, scale));
  if (std::isinf(reciprocal)) return quotient_from(x * reciprocal);
  return quotient_from(rounded_to(format, product_of(x, reciprocal)));
}

Divisions::Divisions(const QuantizeLinear& node, Wording wording) {
  const ElementType type = division_type(node);
  const bool is_narrow = type == ElementType::float16 || type == ElementType::bfloat16;
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

}  // namespace qconform::reference
