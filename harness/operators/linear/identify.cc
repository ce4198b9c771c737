// Probes of QuantizeLinear and DequantizeLinear, and the list of their experiments.
#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/model/text.h"
#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/linear.h"
#include "harness/operators/linear/pipeline.h"
#include "reference/linear_quantization/dequantize_linear.h"

namespace qconform::diagnose {

namespace {

constexpr std::int64_t kElements = 64;
constexpr int kDrawsForAnElement = 400;  // draws for one element

make::Shape shape_of(const ProbeForm& form) {
  make::Shape shape(static_cast<std::size_t>(form.rank), 1);
  shape.back() = kElements;
  return shape;
}

Tensor scalar_of(ElementType type, double value) {
  Tensor tensor = Tensor::zeros(type, {});
  store_number(tensor, 0, value);
  return tensor;
}

// The nearest value of the type, `steps` patterns further; 0 stays away from other signs.
double stepped(ElementType type, double value, std::int64_t steps) {
  Tensor tensor = scalar_of(type, value);
  const std::uint64_t raw = raw_bits_at(tensor.bytes, bits_of(type), 0);
  if (is_integer(type) || number_at(tensor, 0) != 0) {
    set_raw_bits_at(tensor.bytes, bits_of(type), 0, raw + static_cast<std::uint64_t>(steps));
  }
  const double moved = number_at(tensor, 0);
  return std::isfinite(moved) ? moved : value;
}

std::int64_t middle_of_quantized(ElementType type) {
  return type == ElementType::uint8 ? 128 : type == ElementType::uint16 ? 32768 : 0;
}

Case assemble(const ProbeForm& form, Tensor x, Tensor scale, std::int64_t zero_point) {
  const bool quantizes = form.op_type == quantize_linear_operator().name;
  LinearQuantization node{
      .quantizes = quantizes, .opset_version = form.version, .x = std::move(x), .scale = std::move(scale)};
  if (quantizes || form.x_zero_point) node.zero_point = make::integer(quantizes ? form.y : form.x, zero_point);
  return build_linear(std::move(node));
}

// A node for the stages to look at.
QuantizeLinear quantize_node(const ProbeForm& form) {
  QuantizeLinear node;
  node.x_type = form.x;
  node.scale_type = form.x == ElementType::float16 ? ElementType::float16 : ElementType::float32;
  node.y_type = form.y;
  node.version = static_cast<int>(form.version);
  return node;
}

class QuantizeProbe {
 public:
  QuantizeProbe(Rng& rng, const ProbeForm& form, const CandidatePairs& pairs)
      : rng_(rng), form_(form), pairs_(pairs), node_(quantize_node(form)) {
    if (form.y_zero_point) zero_point_ = static_cast<std::int32_t>(middle_of_quantized(form.y) + rng.between(-9, 9));
    const bool is_half = form.x == ElementType::float16;
    const std::int64_t bits = is_half ? 11 : 24;
    // An odd factor in scale and ties makes the latter exact, which a reciprocal misses.
    factor_ = rng.chance(1, 3) ? 1 : 2 * rng.between(1, (1 << (bits - 9)) - 1) + 1;
    const std::int64_t exponent = form.x == ElementType::int32 ? rng.between(8, 22) : rng.between(-8, 0);
    const bool is_exact = rng.chance(1, 2);
    const double random = std::ldexp(static_cast<double>(rng.between(1 << (bits - 1), (1 << bits) - 1)),
                                     static_cast<int>(exponent - bits + 1));
    scale_ = is_exact ? std::ldexp(static_cast<double>(factor_), static_cast<int>(exponent - bits + 9)) : random;
  }

  Case build() {
    Tensor x = Tensor::zeros(form_.x, shape_of(form_));
    for (std::int64_t i = 0; i < kElements; ++i) store_number(x, i, draw_element());
    const ElementType scale_type = form_.x == ElementType::float16 ? ElementType::float16 : ElementType::float32;
    return assemble(form_, std::move(x), scalar_of(scale_type, scale_), zero_point_);
  }

 private:
  [[nodiscard]] std::int64_t output(const Stages& stages, double x) const {
    const reference::FloatFormat& format = reference::float_format(division_type(node_));
    const auto operand = stages.get(stage::operand);
    const Quotient quotient = stages.get(stage::quotient)(node_, operand(format, x), operand(format, scale_));
    return finish(stages, quotient, {zero_point_, reference::range_of(node_.y_type), 0});
  }

  double draw_element() {
    const CandidatePairs::Pair pair = pairs_.next(rng_);
    const reference::IntegerRange range = reference::range_of(node_.y_type);
    double x = 0;
    for (int attempt = 0; attempt < kDrawsForAnElement; ++attempt) {
      const std::int64_t lowest = std::max(range.lo - zero_point_, -100);
      const std::int64_t whole = rng_.chance(1, 8) ? 0 : rng_.between(lowest, 99);
      const std::int64_t steps = rng_.chance(1, 3) ? 0 : rng_.between(-2, 2);
      x = stepped(form_.x, (static_cast<double>(whole) + 0.5) * scale_, steps);
      if (pair.first == nullptr || output(*pair.first, x) != output(*pair.second, x)) break;
    }
    return x;
  }

  Rng& rng_;
  const ProbeForm& form_;
  const CandidatePairs& pairs_;
  QuantizeLinear node_;
  std::int32_t zero_point_ = 0;
  std::int64_t factor_ = 1;
  double scale_ = 1;
};

Case draw_division(Rng& rng, const ProbeForm& form, const CandidatePairs& pairs) {
  return QuantizeProbe(rng, form, pairs).build();
}

// Quotients from 2^31 up, of either sign.
Case draw_large_quotients(Rng& rng, const ProbeForm& form, const CandidatePairs&) {
  Tensor x = Tensor::zeros(form.x, shape_of(form));
  for (std::int64_t i = 0; i < kElements; ++i) {
    const double value = static_cast<double>(random_float(rng, static_cast<int>(rng.between(20, 30)) - 23));
    store_number(x, i, rng.chance(1, 2) ? value : -value);
  }
  const auto scale = random_float(rng, -15 - 23);
  const std::int64_t zero_point = form.y_zero_point ? middle_of_quantized(form.y) + rng.between(-9, 9) : 0;
  return assemble(form, std::move(x), make::float32(scale), zero_point);
}

// A subnormal x over a small normal scale, or a small normal x over a subnormal scale.
Case draw_subnormal_quotients(Rng& rng, const ProbeForm& form, const CandidatePairs&) {
  const bool in_scale = rng.chance(1, 2);
  const auto subnormal = [&] { return std::ldexp(static_cast<double>(rng.between(1 << 20, (1 << 23) - 1)), -149); };
  const auto normal = [&] {
    return static_cast<double>(random_float(rng, static_cast<int>(rng.between(-126, -122)) - 23));
  };
  Tensor x = Tensor::zeros(form.x, shape_of(form));
  for (std::int64_t i = 0; i < kElements; ++i) {
    const double value = in_scale ? normal() : subnormal();
    store_number(x, i, rng.chance(1, 2) ? value : -value);
  }
  const double scale = in_scale ? subnormal() : 0x1p-126;
  const std::int64_t zero_point = form.y_zero_point ? middle_of_quantized(form.y) + rng.between(-9, 9) : 0;
  return assemble(form, std::move(x), make::float32(static_cast<float>(scale)), zero_point);
}

DequantizeLinear dequantize_node(const ProbeForm& form) {
  DequantizeLinear node;
  node.x_type = form.x;
  node.y_type = form.y;
  node.scale_type = node.y_type;
  node.version = static_cast<int>(form.version);
  return node;
}

double draw_integer(Rng& rng, ElementType type) {
  const int bits = bits_of(type);
  const auto raw = static_cast<std::int64_t>(rng.next() >> (64 - bits));
  return static_cast<double>(is_signed_integer(type) ? raw - (std::int64_t{1} << (bits - 1)) : raw);
}

std::uint64_t dequantized(const Stages& stages, const DequantizeLinear& node, double x, double zero_point,
                          double scale) {
  return stages.get(stage::multiply)(node, x, zero_point, stages.get(stage::difference)(node, x, zero_point), scale);
}

Case draw_products(Rng& rng, const ProbeForm& form, const CandidatePairs& pairs, double scale) {
  const DequantizeLinear node = dequantize_node(form);
  const double zero_point = form.x_zero_point ? draw_integer(rng, form.x) : 0;
  Tensor x = Tensor::zeros(form.x, shape_of(form));
  for (std::int64_t i = 0; i < kElements; ++i) {
    const CandidatePairs::Pair pair = pairs.next(rng);
    double value = draw_integer(rng, form.x);
    for (int attempt = 0; pair.first != nullptr && attempt < kDrawsForAnElement; ++attempt) {
      if (dequantized(*pair.first, node, value, zero_point, scale) !=
          dequantized(*pair.second, node, value, zero_point, scale)) {
        break;
      }
      value = draw_integer(rng, form.x);
    }
    store_number(x, i, value);
  }
  return assemble(form, std::move(x), scalar_of(form.y, scale), static_cast<std::int64_t>(zero_point));
}

Case draw_multiplication(Rng& rng, const ProbeForm& form, const CandidatePairs& pairs) {
  const int bits = form.y == ElementType::float16 ? 11 : 24;
  const auto mantissa = static_cast<double>(rng.between(1 << (bits - 1), (1 << bits) - 1));
  return draw_products(rng, form, pairs, std::ldexp(mantissa, static_cast<int>(rng.between(-12, -4)) - bits));
}

Case draw_subnormal_products(Rng& rng, const ProbeForm& form, const CandidatePairs& pairs) {
  return draw_products(rng, form, pairs, std::ldexp(static_cast<double>(rng.between(1 << 14, (1 << 23) - 1)), -149));
}

using Forms = std::vector<std::vector<ProbeForm>>;

// One list of forms for each pair of types: versions, ranks, and with or without a zero point.
std::vector<ProbeForm> linear_chain(std::string_view op_type, ElementType x, ElementType y,
                                    std::initializer_list<std::int64_t> versions) {
  std::vector<ProbeForm> chain;
  for (const std::int64_t version : versions) {
    for (const std::int64_t rank : {2, 4, 1}) {
      for (const bool zero_point : {true, false}) {
        ProbeForm form{.op_type = op_type, .version = version, .x = x, .y = y, .rank = rank};
        (op_type == "QuantizeLinear" ? form.y_zero_point : form.x_zero_point) = zero_point;
        chain.push_back(form);
      }
    }
  }
  return chain;
}

Forms quantize_forms(ElementType x, std::initializer_list<std::int64_t> versions) {
  return {linear_chain("QuantizeLinear", x, ElementType::uint8, versions),
          linear_chain("QuantizeLinear", x, ElementType::int8, versions)};
}

Forms dequantize_forms(std::initializer_list<ElementType> types, ElementType y,
                       std::initializer_list<std::int64_t> versions) {
  Forms forms;
  for (const ElementType x : types) forms.push_back(linear_chain("DequantizeLinear", x, y, versions));
  return forms;
}

// A backend may refuse a zero point of int32 (rule D3).
Forms element_forms() {
  Forms forms = dequantize_forms({ElementType::int32}, ElementType::float32, {13, 10, 21});
  std::erase_if(forms[0], [](const ProbeForm& form) { return form.x_zero_point; });
  return forms;
}

}  // namespace

std::vector<Experiment> linear_experiments() {
  constexpr std::string_view kQ = "QuantizeLinear";
  constexpr std::string_view kD = "DequantizeLinear";
  const Forms from_float = quantize_forms(ElementType::float32, {13, 10, 19, 21});
  const Forms from_bytes =
      dequantize_forms({ElementType::uint8, ElementType::int8}, ElementType::float32, {13, 10, 19});
  std::vector<Experiment> all{{kQ, {"division", "rounding"}, from_float, draw_division},
                              {kQ, {"division-float16"}, quantize_forms(ElementType::float16, {19, 21}), draw_division},
                              {kQ, {"division-int32"}, quantize_forms(ElementType::int32, {13, 10}), draw_division},
                              {kQ, {"conversion"}, from_float, draw_large_quotients},
                              {kQ, {"subnormals"}, from_float, draw_subnormal_quotients},
                              {kD, {"product"}, from_bytes, draw_multiplication},
                              // Before products of float16, which are subnormal now and then.
                              {kD, {"subnormals"}, from_bytes, draw_subnormal_products},
                              {kD,
                               {"product-float16"},
                               dequantize_forms({ElementType::int16, ElementType::uint16}, ElementType::float16, {21}),
                               draw_multiplication},
                              {kD, {"product-int32"}, element_forms(), draw_multiplication}};
  for (Experiment& experiment : all) experiment.asks_again = true;
  return all;
}

// The variants of QuantizeLinear and DequantizeLinear.

namespace {

using reference::DivisionMethod;
using reference::MultiplicationMethod;

template <ElementType type>
bool divides(const Lowered& node) {
  const QuantizeLinear* const q = quantize_linear_of(node);
  const ElementType scale = type == ElementType::int32 ? ElementType::float32 : type;
  return q != nullptr && q->x_type == type && q->scale_type == scale && q->precision == ElementType::undefined;
}

bool to_integer(const Lowered& node) {
  const QuantizeLinear* const q = quantize_linear_of(node);
  return q != nullptr && is_integer(q->y_type);
}

template <DivisionMethod method, ElementType type>
Variant division(std::string id, std::string formula) {
  return {std::move(id), std::move(formula), [](Stages& s) {
            s.set(stage::quotient, [](const QuantizeLinear&, double x, double scale) {
              return reference::divide({method, type, ""}, x, scale);
            });
          }};
}

std::vector<Variant> float_division_variants() {
  constexpr ElementType kF32 = ElementType::float32;
  constexpr ElementType kF64 = ElementType::float64;
  Variant reciprocal = division<DivisionMethod::reciprocal, kF32>("reciprocal", "f32(x * f32(1 / s))");
  reciprocal.defect = "reciprocal";
  return {division<DivisionMethod::operands_rounded, kF32>("f32", "f32(x / s)"),
          division<DivisionMethod::exact, kF32>("exact", "x / s, exactly"),
          division<DivisionMethod::once, kF64>("f64", "f64(x / s)"), std::move(reciprocal),
          division<DivisionMethod::reciprocal, kF64>("f64-reciprocal", "f64(x * f64(1 / s))")};
}

std::vector<Variant> half_division_variants() {
  constexpr ElementType kF16 = ElementType::float16;
  constexpr ElementType kF32 = ElementType::float32;
  return {division<DivisionMethod::operands_rounded, kF16>("f16", "f16(x / s)"),
          division<DivisionMethod::once, kF32>("f32", "f32(x / s), which no wider quotient differs from"),
          division<DivisionMethod::reciprocal, kF16>("reciprocal", "f16(x * f16(1 / s))"),
          division<DivisionMethod::reciprocal, kF32>("f32-reciprocal", "f32(x * f32(1 / s))")};
}

std::vector<Variant> integer_division_variants() {
  constexpr ElementType kF32 = ElementType::float32;
  constexpr ElementType kF64 = ElementType::float64;
  return {division<DivisionMethod::operands_rounded, kF32>("f32", "f32(f32(x) / s)"),
          division<DivisionMethod::once, kF64>("f64", "f64(x / s)"),
          division<DivisionMethod::exact, kF32>("exact", "x / s, exactly"),
          division<DivisionMethod::reciprocal, kF32>("reciprocal", "f32(f32(x) * f32(1 / s))"),
          division<DivisionMethod::once, kF32>("f64-narrowed", "f32(x / s), x not rounded before")};
}

template <ElementType x, ElementType y>
bool multiplies(const Lowered& node) {
  const DequantizeLinear* const d = dequantize_linear_of(node);
  if (d == nullptr || d->y_type != y) return false;
  return x == ElementType::undefined ? is_integer(d->x_type) && bits_of(d->x_type) <= 16 : d->x_type == x;
}

template <MultiplicationMethod method>
Variant multiplication(std::string id, std::string formula) {
  return {std::move(id), std::move(formula), [](Stages& s) {
            s.set(stage::multiply, [](const DequantizeLinear& node, double, double, double difference, double scale) {
              return reference::multiply({method, ""}, node.y_type, difference, scale);
            });
          }};
}

std::vector<Variant> dequantized_product_variants() {
  return {plain_variant("difference", "f32((x - zp) * s)"),
          variant_of_defect("expanded", "f32(f32(x * s) - f32(zp * s))", "dq-expanded"),
          variant_of_defect("expanded-fused", "fma(x, s, -f32(zp * s))", "dq-expanded-fused")};
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
      {"division", kOp, "how float32 x is divided", divides<ElementType::float32>, float_division_variants()},
      {"rounding", kOp, "how the quotient becomes an integer", to_integer, rounding_variants()},
      {"division-float16", kOp, "how float16 x is divided", divides<ElementType::float16>, half_division_variants()},
      {"division-int32", kOp, "how int32 x is divided", divides<ElementType::int32>, integer_division_variants()},
      {"conversion", kOp, "quotients beyond int32", to_integer, conversion_variants()},
      {"subnormals",
       kOp,
       "subnormal x or scale",
       divides<ElementType::float32>,
       {plain_variant("kept", "computed with"), variant_of_defect("flushed", "replaced by zero", "denormal-flush")}}};
}

std::vector<Choice> dequantize_choices() {
  constexpr std::string_view kOp = "DequantizeLinear";
  constexpr ElementType kF32 = ElementType::float32;
  return {{"product", kOp, "how x, zero point and scale are multiplied", multiplies<ElementType::undefined, kF32>,
           dequantized_product_variants()},
          {"product-float16", kOp, "how a float16 result is formed",
           multiplies<ElementType::undefined, ElementType::float16>, half_product_variants()},
          {"product-int32", kOp, "how int32 x is multiplied", multiplies<ElementType::int32, kF32>,
           integer_product_variants()},
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
