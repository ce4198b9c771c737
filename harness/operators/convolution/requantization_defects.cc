// Defects of QLinearConv between a sum and its scaled value.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "harness/operators/convolution/diagnosis.h"
#include "reference/numerics/saturate.h"

namespace qconform::diagnose {
namespace {

constexpr IntegerRange kMultiplied{INT32_MIN, INT32_MAX};

void use_expression_named(Stages& stages, std::string_view name) {
  const auto expressions = reference::float_expressions();
  const auto found = std::find_if(expressions.begin(), expressions.end(),
                                  [&](const reference::FloatExpression& e) { return e.name == name; });
  use_expression(stages, *found);
}

float group_local_scale(const QLinearConv& node, std::int64_t channel) {
  return node.w_scale[static_cast<std::size_t>(channel % node.operands.geometry.group_output_channels())];
}

// sx*sw/sy as gemmlowp holds it: mantissa * 2^(exponent - 31), |mantissa| in [2^30, 2^31) or 0.
struct FixedPointMultiplier {
  std::int64_t mantissa;
  int exponent;
};

FixedPointMultiplier fixed_point_multiplier(const Requantization& p) {
  const double multiplier =
      static_cast<double>(p.x_scale) * static_cast<double>(p.w_scale) / static_cast<double>(p.y_scale);
  FixedPointMultiplier result{};
  result.mantissa = static_cast<std::int64_t>(std::round(std::frexp(multiplier, &result.exponent) * 0x1p31));
  if (result.mantissa == INT64_C(1) << 31 || result.mantissa == -(INT64_C(1) << 31)) {
    result.mantissa /= 2;
    ++result.exponent;
  }
  if (result.exponent < -31) return {0, 0};
  return result;
}

// Both multiplications end at a 32-bit integer.
Quotient quotient_of_integer(std::int64_t value) {
  return quotient_of_float(reference::saturate(value, kMultiplied));
}

// gemmlowp: the high half of twice the product, rounded, and then a shift that rounds again. Ties go
// away from zero.
Quotient multiply_rounding_twice(std::int64_t sum, const Requantization& p, const reference::FloatExpression*) {
  const FixedPointMultiplier multiplier = fixed_point_multiplier(p);
  const std::int64_t shifted =
      reference::saturate(sum * (std::int64_t{1} << std::clamp(multiplier.exponent, 0, 31)), kMultiplied);
  const std::int64_t product = shifted * multiplier.mantissa;
  const std::int64_t nudge = product >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30);
  const std::int64_t high = (product + nudge) / (std::int64_t{1} << 31);
  const int shift = std::max(0, -multiplier.exponent);
  const std::int64_t mask = (std::int64_t{1} << shift) - 1;
  const std::int64_t threshold = mask / 2 + (high < 0 ? 1 : 0);
  return quotient_of_integer((high >> shift) + ((high & mask) > threshold ? 1 : 0));
}

// One rounding of the 64-bit product, half up.
Quotient multiply_rounding_once(std::int64_t sum, const Requantization& p, const reference::FloatExpression*) {
  const FixedPointMultiplier multiplier = fixed_point_multiplier(p);
  const std::int64_t product = sum * multiplier.mantissa;
  const int shift = 31 - multiplier.exponent;
  if (shift <= 0) return quotient_of_integer(product == 0 ? 0 : product > 0 ? INT32_MAX : INT32_MIN);
  return quotient_of_integer((product + (std::int64_t{1} << (shift - 1))) >> shift);
}

void add_bias_after_scaling(Stages& s) {
  s.set(stage::bias, [](const ConvolutionOperands&, std::int64_t) { return std::int64_t{0}; });
  s.set(stage::zero_point,
        [](std::int64_t rounded, const OutputParameters& p) { return rounded + p.bias + p.zero_point; });
}

constexpr Defect kRequantizationDefects[] = {
    {.id = "bias-not-rescaled",
     .description = "the bias is added after scaling, in units of y_scale",
     .operators = {"QLinearConv"},
     .trigger = "a bias other than 0, x_scale * w_scale unlike y_scale",
     .rule = "C20",
     .evidence = "onnxruntime#28229, MIGraphX#4521",
     .replace = add_bias_after_scaling},
    {.id = "w-scale-common",
     .description = "the first channel's w_scale serves every channel",
     .operators = {"QLinearConv"},
     .trigger = "w_scale differs between channels",
     .rule = "formula",
     .evidence = "oneDNN commit 7c52f36a92",
     .replace =
         [](Stages& s) {
           s.set(stage::w_scale, [](const QLinearConv& node, std::int64_t) { return node.w_scale[0]; });
         }},
    {.id = "w-scale-group-local",
     .description = "w_scale indexed by the channel within its group",
     .operators = {"QLinearConv"},
     .trigger = "2 groups or more, w_scale differs between channels",
     .rule = "formula",
     .evidence = "ncnn#1234",
     .hazards = {Hazard::group_parameters},
     .replace = [](Stages& s) { s.set(stage::w_scale, group_local_scale); }},
    {.id = "double-round",
     .description = "Q31 doubling high multiplication, then a rounding shift: two roundings",
     .operators = {"QLinearConv"},
     .trigger = "a multiplier below 1/2, values within 2^-(shift + 1) of a tie",
     .rule = "C19",
     .evidence = "tensorflow#25087",
     .hazards = {Hazard::tie_positive, Hazard::tie_negative, Hazard::near_tie_above, Hazard::near_tie_below},
     .replace = [](Stages& s) { s.set(stage::product, {multiply_rounding_twice}); }},
    {.id = "q31-single-round",
     .description = "Q31 multiplication with one 64-bit rounding, half up",
     .operators = {"QLinearConv"},
     .trigger = "ties with a negative value, values within 2^-31 of a tie",
     .rule = "C19",
     .evidence = "TFLite single rounding, XNNPACK rndnu",
     .hazards = {Hazard::tie_negative, Hazard::near_tie_above, Hazard::near_tie_below},
     .replace = [](Stages& s) { s.set(stage::product, {multiply_rounding_once}); }},
    {.id = "scale-associate-right",
     .description = "multiplier x_scale * (w_scale / y_scale) in float32",
     .operators = {"QLinearConv"},
     .trigger = "values within a few float32 roundings of a tie",
     .rule = "C19",
     .evidence = "onnxruntime#32132, tract#2828",
     .admitted = {"QLinearConv"},
     .hazards = {Hazard::near_tie_above, Hazard::near_tie_below},
     .replace = [](Stages& s) { use_expression_named(s, "multiplier-sw-by-sy"); }},
    {.id = "scale-double",
     .description = "multiplier and product in double",
     .operators = {"QLinearConv"},
     .trigger = "values within a few double roundings of a tie",
     .rule = "C19",
     .evidence = "tensorflow#23800",
     .admitted = {"QLinearConv"},
     .hazards = {Hazard::near_tie_above, Hazard::near_tie_below},
     .replace = [](Stages& s) { use_expression_named(s, "f64"); }},
    {.id = "reciprocal",
     .description = "multiplication by 1 / y_scale, rounded to float32",
     .operators = {"QLinearConv"},
     .trigger = "values within a few float32 roundings of a tie",
     .rule = "Q1",
     .evidence = "onnx-mlir#2967, pytorch#41342",
     .admitted = {"QLinearConv"},
     .hazards = {Hazard::near_tie_above, Hazard::near_tie_below},
     .replace = [](Stages& s) { use_expression_named(s, "multiplier-reciprocal"); }},
};

}  // namespace

std::span<const Defect> requantization_defects() {
  return kRequantizationDefects;
}

}  // namespace qconform::diagnose
