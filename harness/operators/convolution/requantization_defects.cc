// Defects of QLinearConv between a sum and its scaled value.
#include <algorithm>
#include <cstdint>

#include "harness/operators/convolution/diagnosis.h"

namespace qconform::diagnose {
namespace {

void use_expression_named(Stages& stages, std::string_view name) {
  const auto expressions = reference::float_expressions();
  const auto found = std::find_if(expressions.begin(), expressions.end(),
                                  [&](const reference::FloatExpression& e) { return e.name == name; });
  use_expression(stages, *found);
}

float group_local_scale(const QLinearConv& node, std::int64_t channel) {
  return node.w_scale[static_cast<std::size_t>(channel % node.operands.geometry.group_output_channels())];
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
     .replace = [](Stages& s) { s.set(stage::product, {product_rounded_twice}); }},
    {.id = "q31-single-round",
     .description = "Q31 multiplication with one 64-bit rounding, half up",
     .operators = {"QLinearConv"},
     .trigger = "ties with a negative value, values within 2^-31 of a tie",
     .rule = "C19",
     .evidence = "TFLite single rounding, XNNPACK rndnu",
     .hazards = {Hazard::tie_negative, Hazard::near_tie_above, Hazard::near_tie_below},
     .replace = [](Stages& s) { s.set(stage::product, {product_rounded_once}); }},
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
