#include "harness/diagnose/models/stages.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/dequantize_linear/multiplication.h"
#include "reference/numerics/exact_scale.h"
#include "reference/numerics/round.h"
#include "reference/numerics/saturate.h"

namespace qconform::diagnose {
namespace {

constexpr int kSaturatingExponent = 40;

bool keep_geometry(ConvolutionGeometry&, const StatedGeometry&) {
  return true;
}

std::int64_t locate(const ConvolutionGeometry& geometry, std::span<const std::int64_t> position) {
  std::int64_t offset = 0;
  for (std::size_t a = 0; a < position.size(); ++a) {
    const std::int64_t size = geometry.axes[a].input;
    if (position[a] < 0 || position[a] >= size) return kInPadding;
    offset = offset * size + position[a];
  }
  return offset;
}

std::int64_t sum_of_products(const Window& window) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < window.w.size(); ++k) sum += window.product(k);
  return sum;
}

std::int64_t bias_of(const ConvolutionOperands& operands, std::int64_t channel) {
  return operands.bias.empty() ? 0 : operands.bias[static_cast<std::size_t>(channel)];
}

constexpr ConvolutionStages kConvolution{
    .dilations = keep_geometry,
    .pads = keep_geometry,
    .auto_pad = keep_geometry,
    .image = [](std::int64_t n) { return n; },
    .group_base = [](const ConvolutionGeometry& g, std::int64_t group) { return group * g.group_input_channels(); },
    .locate = locate,
    .weight_tap = [](const ConvolutionGeometry&, std::int64_t tap) { return tap; },
    .pad = [](const ConvolutionOperands&, std::int32_t zero_point) { return zero_point; },
    .x_zero_point = [](const ConvolutionOperands& o, bool) { return o.x_zero_point; },
    .x_difference = [](std::int32_t x, std::int32_t zero_point) { return x - zero_point; },
    .w_value = [](Integer8 type, std::byte stored) { return reference::load8(type, stored); },
    .w_zero_point = [](const ConvolutionOperands& o,
                       std::int64_t channel) { return o.w_zero_point[static_cast<std::size_t>(channel)]; },
    .accumulate = sum_of_products,
    .correction = [](const Window&) { return std::int64_t{0}; },
    .empty_window = [](std::int64_t sum, std::int64_t) { return sum; },
    .bias = bias_of,
    .keep = [](std::int64_t sum) { return std::int64_t{reference::wrap_to_int32(sum)}; },
};

Quotient exact_product(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*) {
  const reference::ExactScale scale = reference::exact_scale(p.x_scale, p.w_scale, p.y_scale);
  return {Quotient::Kind::finite,
          reference::Ratio{.negative = (accumulator < 0) != scale.negative,
                           .numerator = reference::uint128{reference::magnitude_of(accumulator)} * scale.numerator,
                           .denominator = scale.denominator,
                           .exponent = scale.exponent}};
}

Quotient float_product(std::int64_t accumulator, const Requantization& p,
                       const reference::FloatExpression* expression) {
  const reference::FloatArithmetic arithmetic(reference::Subnormals::kept);
  return quotient_of_float(
      expression->product({arithmetic, accumulator, static_cast<float>(accumulator), p.x_scale, p.w_scale, p.y_scale}));
}

// The profile of that name rounds after the zero point is added: what it gives is an integer, and the
// stage `round` has nothing left to do.
Quotient onnx_reference_product(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*) {
  const std::int32_t y = reference::requantize(reference::RoundingProfile::onnx_reference, accumulator, p);
  return quotient_of_float(y - p.y_zero_point);
}

constexpr RequantizationStages kRequantization{
    .w_scale = [](const QLinearConv& node,
                  std::int64_t channel) { return node.w_scale[static_cast<std::size_t>(channel)]; },
    .product = exact_product,
    .expression = nullptr,
};

constexpr OutputStages kOutput{
    .round = [](const Quotient& value, std::int32_t) { return neighbours_of(value).even(); },
    .zero_point = [](std::int64_t rounded, const OutputParameters& p) { return rounded + p.zero_point; },
    .clamp = [](std::int64_t value, IntegerRange range) { return std::int64_t{reference::saturate(value, range)}; },
};

Quotient divide(const QuantizeLinear& node, double x, double scale) {
  return reference::divide(reference::Divisions(node, reference::Latitude::onnx).first(), x, scale);
}

std::uint64_t multiply(const DequantizeLinear& node, double, double, double difference, double scale) {
  if (node.y_type == reference::Element::float32) {
    // As the reference forms it, down to the bits of a NaN.
    return std::bit_cast<std::uint32_t>(static_cast<float>(difference) * static_cast<float>(scale));
  }
  return reference::multiply(reference::Multiplications(node).first(), node.y_type, difference, scale);
}

constexpr LinearStages kLinear{
    .count = [](std::int64_t elements) { return elements; },
    .parameter = [](const LinearPlacement& p, std::int64_t index) { return p.layout.parameter_of(index); },
    .operand = [](const FloatFormat&, double value) { return value; },
    .quotient = divide,
    .difference = [](const DequantizeLinear& node, double x,
                     double zero_point) { return reference::difference_of(node.x_type, x, zero_point); },
    .multiply = multiply,
    .result = [](const FloatFormat&, std::uint64_t bits) { return bits; },
};

struct StageName {
  std::string_view name;
  bool (*same)(const Stages& a, const Stages& b);
};

#define QCONFORM_STAGE(group, name)                                                      \
  StageName {                                                                            \
#name, [](const Stages& a, const Stages& b) { return a.group.name == b.group.name; } \
  }

constexpr StageName kStageNames[] = {
    QCONFORM_STAGE(convolution, dilations),
    QCONFORM_STAGE(convolution, pads),
    QCONFORM_STAGE(convolution, auto_pad),
    QCONFORM_STAGE(convolution, image),
    QCONFORM_STAGE(convolution, group_base),
    QCONFORM_STAGE(convolution, locate),
    QCONFORM_STAGE(convolution, weight_tap),
    QCONFORM_STAGE(convolution, pad),
    QCONFORM_STAGE(convolution, x_zero_point),
    QCONFORM_STAGE(convolution, x_difference),
    QCONFORM_STAGE(convolution, w_value),
    QCONFORM_STAGE(convolution, w_zero_point),
    QCONFORM_STAGE(convolution, accumulate),
    QCONFORM_STAGE(convolution, correction),
    QCONFORM_STAGE(convolution, empty_window),
    QCONFORM_STAGE(convolution, bias),
    QCONFORM_STAGE(convolution, keep),
    QCONFORM_STAGE(requantization, w_scale),
    {"product",
     [](const Stages& a, const Stages& b) {
       return a.requantization.product == b.requantization.product &&
              a.requantization.expression == b.requantization.expression;
     }},
    QCONFORM_STAGE(output, round),
    QCONFORM_STAGE(output, zero_point),
    QCONFORM_STAGE(output, clamp),
    QCONFORM_STAGE(linear, count),
    QCONFORM_STAGE(linear, parameter),
    QCONFORM_STAGE(linear, operand),
    QCONFORM_STAGE(linear, quotient),
    QCONFORM_STAGE(linear, difference),
    QCONFORM_STAGE(linear, multiply),
    QCONFORM_STAGE(linear, result),
};

#undef QCONFORM_STAGE

}  // namespace

Stages reference_stages(reference::RoundingProfile profile) {
  Stages stages{kConvolution, kRequantization, kOutput, kLinear};
  switch (profile) {
    case reference::RoundingProfile::correctly_rounded: break;
    case reference::RoundingProfile::ort_f32: use_expression(stages, reference::float_expressions().front()); break;
    case reference::RoundingProfile::onnx_reference: stages.requantization.product = onnx_reference_product; break;
  }
  return stages;
}

void use_expression(Stages& stages, const reference::FloatExpression& expression) {
  stages.requantization.product = float_product;
  stages.requantization.expression = &expression;
}

std::vector<std::string_view> replaced_stages(const Stages& stages, const Stages& original) {
  std::vector<std::string_view> names;
  for (const StageName& stage : kStageNames) {
    if (!stage.same(stages, original)) names.push_back(stage.name);
  }
  return names;
}

Neighbours neighbours_of(const Quotient& value) {
  const std::int64_t sign = value.value.negative ? -1 : 1;
  constexpr std::int64_t kHuge = std::int64_t{1} << kSaturatingExponent;
  if (value.kind == Quotient::Kind::nan || value.is_zero()) return {sign, 0, 0, false};
  if (value.kind == Quotient::Kind::infinite || leading_exponent(value.value) >= kSaturatingExponent) {
    return {sign, kHuge, kHuge, false};
  }
  const reference::RoundedMagnitude magnitude = round_to_unit(value.value, 0);
  return {sign, static_cast<std::int64_t>(magnitude.floor), static_cast<std::int64_t>(magnitude.units),
          magnitude.is_tie};
}

Quotient quotient_of_float(double value) {
  if (std::isfinite(value)) return {Quotient::Kind::finite, reference::ratio_of(value)};
  return {Quotient::Kind::infinite, reference::Ratio{.negative = !(value > 0)}};
}

}  // namespace qconform::diagnose
