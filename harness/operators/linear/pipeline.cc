#include "harness/operators/linear/pipeline.h"

#include <bit>

#include "harness/operators/linear/diagnosis.h"
#include "harness/operators/linear/linear.h"
#include "reference/dequantize_linear/multiplication.h"
#include "reference/linear_quantization/value.h"
#include "reference/numerics/bits.h"
#include "reference/quantize_linear/output.h"

namespace qconform::diagnose {
namespace {

constexpr std::int64_t kDefaultAxis = 1;

// x holds the elements of the layout, y room for as many, both packed as ONNX packs them; y is zero.
void run_quantize(const Stages& stages, const QuantizeLinear& node, const LinearPlacement& placement,
                  std::span<const std::byte> x, std::span<std::byte> y) {
  const FloatFormat& format = reference::float_format(division_type(node));
  const auto parameter_of = stages.get(stage::parameter);
  const auto operand = stages.get(stage::operand);
  const std::int64_t count = stages.get(stage::count)(node.layout.elements());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t parameter = parameter_of(placement, i);
    const double value = operand(format, reference::value_at(node.x_type, x, i));
    const double scale = operand(format, node.y_scale[parameter]);
    const Quotient quotient = stages.get(stage::quotient)(node, value, scale);
    const std::uint64_t bits = is_integer(node.y_type)
                                   ? static_cast<std::uint64_t>(finish(
                                         stages, quotient, {node.y_zero_point[parameter], range_of(node.y_type), 0}))
                                   : output_bits(node, parameter, quotient);
    reference::store_bits(y, bits_of(node.y_type), i, bits);
  }
}

void run_dequantize(const Stages& stages, const DequantizeLinear& node, const LinearPlacement& placement,
                    std::span<const std::byte> x, std::span<std::byte> y) {
  const FloatFormat& format = reference::float_format(node.y_type);
  const auto parameter_of = stages.get(stage::parameter);
  const auto operand = stages.get(stage::operand);
  const std::int64_t count = stages.get(stage::count)(node.layout.elements());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t parameter = parameter_of(placement, i);
    const double value = reference::value_at(node.x_type, x, i);
    const double zero_point = node.x_zero_point[parameter];
    const double scale = operand(format, node.x_scale[parameter]);
    const double difference = stages.get(stage::difference)(node, value, zero_point);
    const std::uint64_t product = stages.get(stage::multiply)(node, value, zero_point, difference, scale);
    reference::store_bits(y, bits_of(node.y_type), i, stages.get(stage::result)(format, product));
  }
}

}  // namespace

Quotient divide(const QuantizeLinear& node, double x, double scale) {
  return reference::divide(reference::Divisions(node, reference::Latitude::onnx).first(), x, scale);
}

double subtract(const DequantizeLinear& node, double x, double zero_point) {
  return reference::difference_of(node.x_type, x, zero_point);
}

std::uint64_t multiply(const DequantizeLinear& node, double, double, double difference, double scale) {
  if (node.y_type == reference::Element::float32) {
    // As the reference forms it, down to the bits of a NaN.
    return std::bit_cast<std::uint32_t>(static_cast<float>(difference) * static_cast<float>(scale));
  }
  return reference::multiply(reference::Multiplications(node).first(), node.y_type, difference, scale);
}

std::optional<Tensor> run_linear(const Case& test_case, const Lowered& lowered, const Stages& stages) {
  const Tensor& x = *test_case.input(0);
  const Attribute* axis = test_case.attribute("axis");
  const LinearPlacement placement{*layout_of(lowered), x.shape,
                                  axis == nullptr ? kDefaultAxis : std::get<std::int64_t>(axis->value)};
  Tensor y = Tensor::zeros(lowered.output_type(), x.shape);
  if (const QuantizeLinear* node = quantize_linear_of(lowered)) {
    run_quantize(stages, *node, placement, x.bytes, y.bytes);
  } else {
    run_dequantize(stages, *dequantize_linear_of(lowered), placement, x.bytes, y.bytes);
  }
  return y;
}

}  // namespace qconform::diagnose
