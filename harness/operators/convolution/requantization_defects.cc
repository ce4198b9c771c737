// Defects of QLinearConv between a sum and its scaled value.
#include <algorithm>
#include <cstdint>

#include "harness/operators/convolution/diagnosis.h"
#include "reference/numerics/integers.h"

namespace qconform::diagnose {
namespace {

void use_expression_named(Stages& stages, std::string_view name) {
  const auto expressions = reference::float_expressions();
  const auto found = std::find_if(expressions.begin(), expressions.end(),
                                  [&](const reference::FloatExpression& e) { return e.name == name; });
  use_expression(stages, *found);
}

void add_bias_after_scaling(Stages& s) {
  s.set(stage::bias, [](std::int64_t sum, const ConvolutionOperands&, std::int64_t) { return sum; });
  s.set(stage::zero_point,
        [](std::int64_t rounded, const OutputParameters& p) { return rounded + p.bias + p.zero_point; });
}

std::int64_t float32_sum(std::int64_t sum, const ConvolutionOperands& operands, std::int64_t channel) {
  const std::int32_t kept = reference::wrap_to_int32(sum);
  if (operands.bias.empty()) return kept;
  return static_cast<std::int64_t>(static_cast<float>(kept) + static_cast<float>(bias_of(operands, channel)));
}

}  // namespace

void add_bias_in_float32(Stages& s) {
  s.set(stage::bias, float32_sum);
  s.set(stage::keep, [](std::int64_t sum) { return sum; });
}

namespace {

// The byte at the channel's index; little endian.
std::int64_t add_byte_of_bias(std::int64_t sum, const ConvolutionOperands& operands, std::int64_t channel) {
  if (operands.bias.empty()) return sum;
  const auto word = static_cast<std::uint32_t>(operands.bias[static_cast<std::size_t>(channel / 4)]);
  return sum + static_cast<std::int8_t>(word >> (channel % 4 * 8) & 0xFFU);
}

// Outputs of a plane are computed in blocks of 32, four at a time; in two dimensions the last four overlap those before
// them. Depthwise 3x3 kernels go row by row, 32 outputs at a time.
bool is_computed_alone(const ConvolutionGeometry& geometry, std::int64_t position) {
  constexpr std::int64_t kBlock = 32;
  constexpr std::int64_t kVector = 4;
  if (has_depthwise_rows(geometry)) return is_alone_in_row(geometry.axes[1], position % geometry.axes[1].output);
  const std::int64_t begin = position / kBlock * kBlock;
  const std::int64_t size = std::min(kBlock, geometry.output_positions() - begin);
  return geometry.axes.size() == 2 ? size < kVector : position - begin >= size / kVector * kVector;
}

constexpr Defect kRequantizationDefects[] = {
    {.id = "bias-not-rescaled",
     .description = "the bias is added after scaling, in units of y_scale",
     .operators = {"QLinearConv"},
     .trigger = "a bias other than 0, x_scale * w_scale unlike y_scale",
     .rule = "C20",
     .evidence = "onnxruntime#28229, MIGraphX#4521",
     .needs = {"bias != 0"},
     .replace = add_bias_after_scaling},
    {.id = "bias-in-f32",
     .description = "sum and bias are rounded to float32 and added in float32",
     .operators = {"QLinearConv"},
     .trigger = "a bias beyond 2^24 that mostly cancels the sum",
     .rule = "C20",
     .evidence = "oneDNN 2.6.3",
     .corner_cases = {CornerCase::bias_beyond_float},
     .slot = "total.type",
     .computes = "float32"},
    {.id = "bias-as-int8",
     .description = "the bias read as int8: the byte at the channel's index",
     .operators = {"QLinearConv"},
     .trigger = "a bias outside [-128, 127], or biases of several channels",
     .rule = "C16",
     .needs = {"bias != 0"},
     .replace = [](Stages& s) { s.set(stage::bias, add_byte_of_bias); }},
    {.id = "w-scale-common",
     .description = "the first channel's w_scale serves every channel",
     .operators = {"QLinearConv"},
     .trigger = "w_scale differs between channels",
     .rule = "formula",
     .evidence = "oneDNN commit 7c52f36a92",
     .needs = {"w_scale differs by channel"},
     .slot = "w_scale.index",
     .computes = "0"},
    {.id = "w-scale-group-local",
     .description = "w_scale indexed by the channel within its group",
     .operators = {"QLinearConv"},
     .trigger = "2 groups or more, w_scale differs between channels",
     .rule = "formula",
     .evidence = "ncnn#1234",
     .corner_cases = {CornerCase::group_parameters},
     .needs = {"group > 1", "w_scale differs by channel"},
     .slot = "w_scale.index",
     .computes = "channel % group_channels"},
    {.id = "double-round",
     .description = "Q31 doubling high multiplication, then a rounding shift: two roundings",
     .operators = {"QLinearConv"},
     .trigger = "a multiplier below 1/2, values within 2^-(shift + 1) of a tie",
     .rule = "C19",
     .evidence = "tensorflow#25087",
     .corner_cases = {CornerCase::tie_positive, CornerCase::tie_negative, CornerCase::near_tie_above,
                      CornerCase::near_tie_below},
     .slot = "product",
     .computes = "q31_half_up_then_half_away"},
    {.id = "q31-single-round",
     .description = "Q31 multiplication with one 64-bit rounding, half up",
     .operators = {"QLinearConv"},
     .trigger = "ties with a negative value, values within 2^-31 of a tie",
     .rule = "C19",
     .evidence = "TFLite single rounding, XNNPACK rndnu",
     .corner_cases = {CornerCase::tie_negative, CornerCase::near_tie_above, CornerCase::near_tie_below},
     .replace = [](Stages& s) { s.set(stage::product, {product_rounded_once}); }},
    {.id = "scale-associate-right",
     .description = "multiplier x_scale * (w_scale / y_scale) in float32",
     .operators = {"QLinearConv"},
     .trigger = "values within a few float32 roundings of a tie",
     .rule = "C19",
     .evidence = "onnxruntime#32132, tract#2828",
     .admitted = {"QLinearConv"},
     .corner_cases = {CornerCase::near_tie_above, CornerCase::near_tie_below},
     .replace = [](Stages& s) { use_expression_named(s, "multiplier-sw-by-sy"); }},
    {.id = "scale-double",
     .description = "multiplier and product in double",
     .operators = {"QLinearConv"},
     .trigger = "values within a few double roundings of a tie",
     .rule = "C19",
     .evidence = "tensorflow#23800",
     .admitted = {"QLinearConv"},
     .corner_cases = {CornerCase::near_tie_above, CornerCase::near_tie_below},
     .replace = [](Stages& s) { use_expression_named(s, "f64"); }},
    {.id = "half-away-tail",
     .description = "ties round away from zero in outputs that are left over from a vector loop of 4",
     .operators = {"QLinearConv"},
     .trigger = "exact ties beside an even integer, a plane of fewer than 4 outputs or with a tail",
     .rule = "C19",
     .evidence = "OpenCV 4.6.0",
     .corner_cases = {CornerCase::tie_positive, CornerCase::tie_negative},
     .replace =
         [](Stages& s) {
           s.set(stage::vector_tail, is_computed_alone);
           s.set(stage::tail_round, round_half_away);
         }},
    {.id = "zp-wraps-offset-int8",
     .description = "the zero point is added to an int32 and wraps; uint8 outputs are computed as int8 less 128",
     .operators = {"QLinearConv"},
     .trigger = "values near the ends of int32 or beyond",
     .rule = "Q4",
     .evidence = "OpenCV 4.6.0",
     .corner_cases = {CornerCase::conversion_overflow},
     .replace =
         [](Stages& s) {
           s.set(stage::storage_offset, hold_as_int8);
           s.set(stage::zero_point, add_zero_point_in_int32);
         }},
    {.id = "reciprocal",
     .description = "multiplication by 1 / y_scale, rounded to float32",
     .operators = {"QLinearConv"},
     .trigger = "values within a few float32 roundings of a tie",
     .rule = "Q1",
     .evidence = "onnx-mlir#2967, pytorch#41342",
     .admitted = {"QLinearConv"},
     .corner_cases = {CornerCase::near_tie_above, CornerCase::near_tie_below},
     .replace = [](Stages& s) { use_expression_named(s, "multiplier-reciprocal"); }},
};

}  // namespace

std::span<const Defect> requantization_defects() {
  return kRequantizationDefects;
}

}  // namespace qconform::diagnose
