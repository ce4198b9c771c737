// The variants of QLinearConv and ConvInteger.
#include <cmath>
#include <string>
#include <utility>

#include "harness/model/defects/identify_variants.h"
#include "harness/operators/convolution/diagnosis.h"
#include "harness/operators/convolution/pipeline.h"
#include "reference/numerics/fixed_point.h"
#include "reference/numerics/saturate.h"

namespace qconform::diagnose {
namespace {

bool always(const Lowered&) {
  return true;
}

// The expressions that a defect model stands for.
std::string_view defect_of(std::string_view expression) {
  if (expression == "multiplier-sw-by-sy") return "scale-associate-right";
  if (expression == "f64") return "scale-double";
  return expression == "multiplier-reciprocal" ? "reciprocal" : std::string_view();
}

using Multiplier = float (*)(const reference::FloatArithmetic& f, const Requantization& p);
using Multiply = std::int32_t (*)(std::int32_t sum, const reference::FixedPointMultiplier& multiplier);

float left_first(const reference::FloatArithmetic& f, const Requantization& p) {
  return reference::ort_f32_multiplier(f, p.x_scale, p.w_scale, p.y_scale);
}

float w_by_y_first(const reference::FloatArithmetic& f, const Requantization& p) {
  return f.multiply(p.x_scale, f.divide(p.w_scale, p.y_scale));
}

float x_by_y_first(const reference::FloatArithmetic& f, const Requantization& p) {
  return f.multiply(f.divide(p.x_scale, p.y_scale), p.w_scale);
}

float narrowed(const reference::FloatArithmetic& f, const Requantization& p) {
  return f.narrow(static_cast<double>(p.x_scale) * static_cast<double>(p.w_scale) / static_cast<double>(p.y_scale));
}

// Fixed point whose multiplier was formed in float32. Beyond float32 it is none.
template <Multiplier form, Multiply multiply>
Quotient fixed_point_of_float32(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*) {
  const float multiplier = form(reference::FloatArithmetic(reference::Subnormals::kept), p);
  if (!std::isfinite(multiplier)) return quotient_of_float(static_cast<double>(accumulator) * multiplier);
  return quotient_of_float(multiply(reference::wrap_to_int32(accumulator),
                                    reference::fixed_point_multiplier(static_cast<double>(multiplier))));
}

// Says that the product is an integer before the stage `round`, so that it settles the rounding.
Variant settling_rounding(Variant product, std::string settled_as) {
  product.settles = "rounding";
  product.settled_as = std::move(settled_as);
  return product;
}

constexpr const char* kTwice = "Q31: the product rounds twice, high half and shift";
constexpr const char* kOnce = "Q31: the product rounds once, half up";

template <Multiplier form>
void add_fixed_point_of_float32(std::vector<Variant>& variants, const std::string& suffix, const std::string& formula) {
  const auto add = [&](const char* id, const char* roundings, const char* settled_as, auto by) {
    variants.push_back(settling_rounding({id + suffix, "31-bit integer of the multiplier " + formula + ", " + roundings,
                                          [by](Stages& s) { s.set(stage::product, {by}); }},
                                         settled_as));
  };
  add("q31-double-round-", "two roundings", kTwice, fixed_point_of_float32<form, reference::multiply_rounding_twice>);
  add("q31-single-round-", "one rounding of 64 bits", kOnce,
      fixed_point_of_float32<form, reference::multiply_rounding_once>);
}

std::vector<Variant> product_variants() {
  std::vector<Variant> variants{plain_variant("exact", "A * sx * sw / sy, exactly")};
  for (const reference::FloatExpression& expression : reference::float_expressions()) {
    variants.push_back({std::string(expression.name), std::string(expression.formula),
                        [&expression](Stages& s) { use_expression(s, expression); }, defect_of(expression.name)});
  }
  variants.push_back(settling_rounding(
      variant_of_defect("q31-double-round", "31-bit integer multiplier, doubling high multiplication, rounding shift",
                        "double-round"),
      kTwice));
  variants.push_back(settling_rounding(
      variant_of_defect("q31-single-round", "31-bit integer multiplier, one rounding of 64 bits", "q31-single-round"),
      kOnce));
  add_fixed_point_of_float32<left_first>(variants, "f32", "f32(f32(sx * sw) / sy)");
  add_fixed_point_of_float32<w_by_y_first>(variants, "f32-sw-by-sy", "f32(sx * f32(sw / sy))");
  add_fixed_point_of_float32<x_by_y_first>(variants, "f32-sx-by-sy", "f32(f32(sx / sy) * sw)");
  add_fixed_point_of_float32<narrowed>(variants, "f32-narrowed", "f32(f64(sx * sw / sy))");
  return variants;
}

template <reference::Subnormals subnormals>
Quotient flushed_product(std::int64_t accumulator, const Requantization& p,
                         const reference::FloatExpression* expression) {
  const reference::FloatArithmetic arithmetic(subnormals);
  return quotient_of_float(
      expression->product({arithmetic, accumulator, static_cast<float>(accumulator), p.x_scale, p.w_scale, p.y_scale}));
}

// Only a product in floating point has subnormals.
template <reference::Subnormals subnormals>
void flush(Stages& s) {
  const auto* expression = s.get(stage::product).expression;
  if (expression != nullptr) s.set(stage::product, {flushed_product<subnormals>, expression});
}

std::int64_t in_float32(std::int64_t value) {
  return static_cast<std::int64_t>(static_cast<float>(value));
}

std::vector<Variant> sum_variants() {
  return {plain_variant("exact", "every product counts in full"),
          variant_of_defect("pair-sat-i16", "pairs of raw u8*s8 products saturate to int16", "pair-sat-i16"),
          variant_of_defect("acc-wrap-i16-9tap", "each channel's raw products summed in a wrapping int16",
                            "acc-wrap-i16-9tap"),
          variant_of_defect("f32-accumulate", "summed in float32", "f32-accumulate"),
          {"f32-result", "summed exactly, then rounded to float32",
           [](Stages& s) { s.set(stage::accumulate, [](const Window& window) { return in_float32(window.sum()); }); }}};
}

Variant saturating_sum() {
  return variant_of_defect("saturate32", "the sum saturates to int32", "i32-sat");
}

std::vector<Variant> qlinear_overflow_variants() {
  // Adding the bias in float32 has replaced the reference's own stage.
  return {{"wrap32", "the sum wraps to int32", [](Stages& s) { s.set(stage::keep, wrap_sum); }},
          saturating_sum(),
          {"wide", "the sum has more than 32 bits",
           [](Stages& s) { s.set(stage::keep, [](std::int64_t sum) { return sum; }); }}};
}

std::vector<Variant> integer_overflow_variants() {
  return {plain_variant("wrap32", "the sum wraps to int32"), saturating_sum(),
          variant_of_defect("narrow-i8", "the sum wraps to int8", "acc-narrow-i8")};
}

}  // namespace

std::vector<Choice> convolution_choices() {
  constexpr std::string_view kQ = "QLinearConv";
  constexpr std::string_view kI = "ConvInteger";
  return {{"product", kQ, "how sum and scales are multiplied", always, product_variants()},
          {"rounding", kQ, "how the product becomes an integer", always, rounding_variants()},
          {"bias",
           kQ,
           "how the bias is added",
           always,
           {plain_variant("integer", "to the sum, in integers"),
            variant_of_defect("f32", "f32(f32(sum) + f32(B))", "bias-in-f32")}},
          {"sum", kQ, "how products are summed", always, sum_variants()},
          {"overflow", kQ, "sums beyond int32", always, qlinear_overflow_variants()},
          {"conversion", kQ, "scaled values beyond int32", always, conversion_variants()},
          {"subnormals",
           kQ,
           "float32 numbers below 2^-126 in the product",
           always,
           {plain_variant("kept", "computed with"),
            {"flushed", "replaced by zero, results after they are rounded (x86's FTZ and DAZ)",
             flush<reference::Subnormals::flushed_after_rounding>},
            {"flushed-before-rounding", "replaced by zero, results before they are rounded (Arm's FZ)",
             flush<reference::Subnormals::flushed_before_rounding>}}},
          {"sum", kI, "how products are summed", always, sum_variants()},
          {"overflow", kI, "sums beyond int32", always, integer_overflow_variants()}};
}

}  // namespace qconform::diagnose
