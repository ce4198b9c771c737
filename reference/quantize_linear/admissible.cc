#include <cmath>

#include "reference/linear_quantization/value.h"
#include "reference/quantize_linear/output.h"

namespace qconform::reference {
namespace {

// Admits all values that ONNX's tables of casts to float8 and float4 leave open, or changed between versions.
void admit_float_specials(const QuantizeLinear& node, const Quotient& quotient, AdmissibleBits& result) {
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

AdmissibleBits admissible_quantize(const QuantizeLinear& node, std::uint64_t x_bits, std::size_t parameter,
                                   Wording wording) {
  AdmissibleBits result(node.y_type);
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
