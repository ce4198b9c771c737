// The variants of QuantizeLinear and DequantizeLinear.
#include <cmath>
#include <utility>

#include "harness/operators/linear/diagnosis.h"
#include "harness/operators/linear/linear.h"
#include "harness/operators/linear/pipeline.h"
#include "reference/dequantize_linear/multiplication.h"

namespace qconform::diagnose {
namespace {

using reference::DivisionMethod;
using reference::Element;
using reference::MultiplicationMethod;

template <Element type>
bool divides(const Lowered& node) {
  const QuantizeLinear* const q = quantize_linear_of(node);
  const Element scale = type == Element::int32 ? Element::float32 : type;
  return q != nullptr && q->x_type == type && q->scale_type == scale && q->precision == Element::none;
}

bool to_integer(const Lowered& node) {
  const QuantizeLinear* const q = quantize_linear_of(node);
  return q != nullptr && is_integer(q->y_type);
}

template <DivisionMethod method, Element type>
Variant division(std::string id, std::string formula) {
  return {std::move(id), std::move(formula), [](Stages& s) {
            s.set(stage::quotient, [](const QuantizeLinear&, double x, double scale) {
              return reference::divide({method, type, ""}, x, scale);
            });
          }};
}

std::vector<Variant> float_division_variants() {
  constexpr Element kF32 = Element::float32;
  constexpr Element kF64 = Element::float64;
  Variant reciprocal = division<DivisionMethod::reciprocal, kF32>("reciprocal", "f32(x * f32(1 / s))");
  reciprocal.defect = "reciprocal";
  return {division<DivisionMethod::operands_rounded, kF32>("f32", "f32(x / s)"),
          division<DivisionMethod::exact, kF32>("exact", "x / s, exactly"),
          division<DivisionMethod::once, kF64>("f64", "f64(x / s)"), std::move(reciprocal),
          division<DivisionMethod::reciprocal, kF64>("f64-reciprocal", "f64(x * f64(1 / s))")};
}

std::vector<Variant> half_division_variants() {
  constexpr Element kF16 = Element::float16;
  constexpr Element kF32 = Element::float32;
  return {division<DivisionMethod::operands_rounded, kF16>("f16", "f16(x / s)"),
          division<DivisionMethod::once, kF32>("f32", "f32(x / s), which no wider quotient differs from"),
          division<DivisionMethod::reciprocal, kF16>("reciprocal", "f16(x * f16(1 / s))"),
          division<DivisionMethod::reciprocal, kF32>("f32-reciprocal", "f32(x * f32(1 / s))")};
}

std::vector<Variant> integer_division_variants() {
  constexpr Element kF32 = Element::float32;
  constexpr Element kF64 = Element::float64;
  return {division<DivisionMethod::operands_rounded, kF32>("f32", "f32(f32(x) / s)"),
          division<DivisionMethod::once, kF64>("f64", "f64(x / s)"),
          division<DivisionMethod::exact, kF32>("exact", "x / s, exactly"),
          division<DivisionMethod::reciprocal, kF32>("reciprocal", "f32(f32(x) * f32(1 / s))"),
          division<DivisionMethod::once, kF32>("f64-narrowed", "f32(x / s), x not rounded before")};
}

template <Element x, Element y>
bool multiplies(const Lowered& node) {
  const DequantizeLinear* const d = dequantize_linear_of(node);
  if (d == nullptr || d->y_type != y) return false;
  return x == Element::none ? is_integer(d->x_type) && bits_of(d->x_type) <= 16 : d->x_type == x;
}

template <MultiplicationMethod method>
Variant multiplication(std::string id, std::string formula) {
  return {std::move(id), std::move(formula), [](Stages& s) {
            s.set(stage::multiply, [](const DequantizeLinear& node, double, double, double difference, double scale) {
              return reference::multiply({method, ""}, node.y_type, difference, scale);
            });
          }};
}

// fma(x, s, -RN(zp * s)): the difference below is exact in double before its one rounding, since both
// products are 40 bits wide at most.
std::uint64_t multiply_fused(const DequantizeLinear& node, double x, double zero_point, double, double scale) {
  const reference::FloatFormat& format = reference::float_format(node.y_type);
  return encode(format, x * scale - reference::rounded_to(format, zero_point * scale), reference::Overflow::special);
}

std::vector<Variant> dequantized_product_variants() {
  return {plain_variant("difference", "f32((x - zp) * s)"),
          variant_of_defect("expanded", "f32(f32(x * s) - f32(zp * s))", "dq-expanded"),
          {"expanded-fused", "fma(x, s, -f32(zp * s))", [](Stages& s) { s.set(stage::multiply, multiply_fused); }}};
}

std::vector<Variant> half_product_variants() {
  return {multiplication<MultiplicationMethod::once>("once", "f16((x - zp) * s)"),
          multiplication<MultiplicationMethod::difference_rounded>("difference-rounded", "f16(f16(x - zp) * s)"),
          multiplication<MultiplicationMethod::through_float32>("through-f32", "f16(f32(f32(x - zp) * s))")};
}

std::vector<Variant> integer_product_variants() {
  return {multiplication<MultiplicationMethod::difference_rounded>("x-rounded", "f32(f32(x) * s)"),
          multiplication<MultiplicationMethod::once>("once", "f32(x * s)")};
}

// Results alone: the operands are taken as they are.
void flush_results(Stages& s) {
  const auto operand = s.get(stage::operand);
  find_defect("denormal-flush")->apply(s);
  s.set(stage::operand, operand);
}

std::vector<Choice> quantize_choices() {
  constexpr std::string_view kOp = "QuantizeLinear";
  return {
      {"division", kOp, "how float32 x is divided", divides<Element::float32>, float_division_variants()},
      {"rounding", kOp, "how the quotient becomes an integer", to_integer, rounding_variants()},
      {"division-float16", kOp, "how float16 x is divided", divides<Element::float16>, half_division_variants()},
      {"division-int32", kOp, "how int32 x is divided", divides<Element::int32>, integer_division_variants()},
      {"conversion", kOp, "quotients beyond int32", to_integer, conversion_variants()},
      {"subnormals",
       kOp,
       "subnormal x or scale",
       divides<Element::float32>,
       {plain_variant("kept", "computed with"), variant_of_defect("flushed", "replaced by zero", "denormal-flush")}}};
}

std::vector<Choice> dequantize_choices() {
  constexpr std::string_view kOp = "DequantizeLinear";
  constexpr Element kF32 = Element::float32;
  return {
      {"product", kOp, "how x, zero point and scale are multiplied", multiplies<Element::none, kF32>,
       dequantized_product_variants()},
      {"product-float16", kOp, "how a float16 result is formed", multiplies<Element::none, Element::float16>,
       half_product_variants()},
      {"product-int32", kOp, "how int32 x is multiplied", multiplies<Element::int32, kF32>, integer_product_variants()},
      {"subnormals",
       kOp,
       "subnormal scale or result",
       [](const Lowered& node) { return dequantize_linear_of(node) != nullptr; },
       {plain_variant("kept", "computed with"),
        variant_of_defect("flushed", "scales and results replaced by zero", "denormal-flush"),
        {"results-flushed", "results replaced by zero", flush_results}}}};
}

}  // namespace

std::vector<Choice> linear_choices() {
  std::vector<Choice> all = quantize_choices();
  std::vector<Choice> dequantize = dequantize_choices();
  std::move(dequantize.begin(), dequantize.end(), std::back_inserter(all));
  return all;
}

}  // namespace qconform::diagnose
