#include "harness/operators/linear/pipeline.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "harness/model/text.h"
#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/linear.h"
#include "reference/linear_quantization/dequantize_linear.h"
#include "reference/linear_quantization/quantize_linear.h"
#include "reference/numerics/element.h"
#include "reference/numerics/floats.h"

namespace qconform::diagnose {
namespace {

constexpr std::int64_t kDefaultAxis = 1;

struct ElementRange {
  std::int64_t begin;
  std::int64_t end;
};

// x holds the elements of the layout, y room for as many, both packed as ONNX packs them; y is zero, and stays so
// outside of the range.
void run_quantize(const Stages& stages, const QuantizeLinear& node, const LinearPlacement& placement,
                  ElementRange range, std::span<const std::byte> x, std::span<std::byte> y) {
  const FloatFormat& format = reference::float_format(division_type(node));
  const auto parameter_of = stages.get(stage::parameter);
  const auto zero_point_of = stages.get(stage::zero_point_parameter);
  const auto operand = stages.get(stage::operand);
  const std::int64_t end = std::min(range.end, stages.get(stage::count)(node.layout.elements()));
  for (std::int64_t i = range.begin; i < end; ++i) {
    const std::size_t parameter = parameter_of(placement, i);
    const double value = operand(format, reference::value_at(node.x_type, x, i));
    const double scale = operand(format, node.y_scale[parameter]);
    const Quotient quotient = stages.get(stage::quotient)(node, value, scale);
    const std::int32_t zero_point = node.y_zero_point[zero_point_of(parameter)];
    const std::uint64_t bits =
        is_integer(node.y_type)
            ? static_cast<std::uint64_t>(finish(stages, quotient, {zero_point, reference::range_of(node.y_type), 0}))
            : stages.get(stage::encode)(node, quotient);
    reference::store_bits(y, bits_of(node.y_type), i, bits);
  }
}

void run_dequantize(const Stages& stages, const DequantizeLinear& node, const LinearPlacement& placement,
                    ElementRange range, std::span<const std::byte> x, std::span<std::byte> y) {
  const FloatFormat& format = reference::float_format(node.y_type);
  const auto parameter_of = stages.get(stage::parameter);
  const auto zero_point_of = stages.get(stage::zero_point_parameter);
  const auto operand = stages.get(stage::operand);
  const std::int64_t end = std::min(range.end, stages.get(stage::count)(node.layout.elements()));
  for (std::int64_t i = range.begin; i < end; ++i) {
    const std::size_t parameter = parameter_of(placement, i);
    const double value = reference::value_at(node.x_type, x, i);
    const double zero_point = node.x_zero_point[zero_point_of(parameter)];
    const double scale = operand(format, node.x_scale[parameter]);
    const double difference = stages.get(stage::difference)(node, value, zero_point);
    const std::uint64_t product = stages.get(stage::multiply)(node, value, zero_point, difference, scale);
    reference::store_bits(y, bits_of(node.y_type), i, stages.get(stage::result)(format, product));
  }
}

void read_scales(const Stages& stages, ElementType type, std::vector<double>& scales) {
  for (double& scale : scales) scale = stages.get(stage::scale)(type, scale);
}

// The node as the stages read its attributes and inputs.
QuantizeLinear read_quantize(const Stages& stages, QuantizeLinear node, const Tensor* zero_point) {
  node.y_type =
      stages.get(stage::output_type)(node.y_type, zero_point == nullptr ? ElementType::uint8 : zero_point->type);
  node.precision = stages.get(stage::precision)(node.precision);
  node.saturate = stages.get(stage::saturate)(node.saturate);
  read_scales(stages, node.scale_type, node.y_scale);
  if (zero_point == nullptr) {
    std::fill(node.y_zero_point.begin(), node.y_zero_point.end(), stages.get(stage::absent_zero_point)(node.y_type));
  }
  return node;
}

DequantizeLinear read_dequantize(const Stages& stages, DequantizeLinear node, const Tensor* zero_point) {
  node.y_type = stages.get(stage::output_type)(node.y_type, node.scale_type);
  read_scales(stages, node.scale_type, node.x_scale);
  if (zero_point == nullptr) {
    std::fill(node.x_zero_point.begin(), node.x_zero_point.end(), stages.get(stage::absent_zero_point)(node.x_type));
  }
  return node;
}

}  // namespace

std::uint64_t encode_quotient(const QuantizeLinear& node, const Quotient& quotient) {
  return output_bits(node, 0, quotient);  // floats have no zero point
}

Quotient divide(const QuantizeLinear& node, double x, double scale) {
  return reference::divide(reference::Divisions(node, reference::Wording::onnx).first(), x, scale);
}

double subtract(const DequantizeLinear& node, double x, double zero_point) {
  return reference::difference_of(node.x_type, x, zero_point);
}

std::uint64_t multiply(const DequantizeLinear& node, double, double, double difference, double scale) {
  if (node.y_type == ElementType::float32) {
    // As the reference forms it, down to the bits of a NaN.
    return std::bit_cast<std::uint32_t>(static_cast<float>(difference) * static_cast<float>(scale));
  }
  return reference::multiply(reference::Multiplications(node).first(), node.y_type, difference, scale);
}

namespace {

Tensor run_elements(const Case& test_case, const Lowered& lowered, const Stages& stages, ElementRange range) {
  const Tensor& x = *test_case.input(0);
  const std::int64_t axis = test_case.node().get_or("axis", kDefaultAxis);
  const auto placement = [&](const auto& node) -> LinearPlacement {
    return {*layout_of(lowered), x.shape, axis, node.x_type, node.y_type};
  };
  const Tensor* zero_point = test_case.input(2);
  if (const QuantizeLinear* stated = quantize_linear_of(lowered)) {
    const QuantizeLinear node = read_quantize(stages, *stated, zero_point);
    Tensor y = Tensor::zeros(node.y_type, x.shape);
    run_quantize(stages, node, placement(node), range, x.bytes, y.bytes);
    return y;
  }
  const DequantizeLinear node = read_dequantize(stages, *dequantize_linear_of(lowered), zero_point);
  Tensor y = Tensor::zeros(node.y_type, x.shape);
  run_dequantize(stages, node, placement(node), range, x.bytes, y.bytes);
  return y;
}

}  // namespace

std::optional<Tensor> run_linear(const Case& test_case, const Lowered& lowered, const Stages& stages) {
  return run_elements(test_case, lowered, stages, {0, std::numeric_limits<std::int64_t>::max()});
}

std::uint64_t linear_element(const Case& test_case, const Lowered& lowered, const Stages& stages, std::int64_t index) {
  return bits_at(run_elements(test_case, lowered, stages, {index, index + 1}), index);
}

}  // namespace qconform::diagnose
