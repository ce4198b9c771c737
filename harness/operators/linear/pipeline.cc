#include "harness/operators/linear/pipeline.h"

#include "reference/linear_quantization/value.h"
#include "reference/numerics/bits.h"
#include "reference/quantize_linear/output.h"

namespace qconform::diagnose {

void run_quantize(const Stages& stages, const QuantizeLinear& node, const LinearPlacement& placement,
                  std::span<const std::byte> x, std::span<std::byte> y) {
  const LinearStages& linear = stages.linear;
  const FloatFormat& format = reference::float_format(division_type(node));
  const std::int64_t count = linear.count(node.layout.elements());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t parameter = linear.parameter(placement, i);
    const double value = linear.operand(format, reference::value_at(node.x_type, x, i));
    const double scale = linear.operand(format, node.y_scale[parameter]);
    const Quotient quotient = linear.quotient(node, value, scale);
    const std::uint64_t bits =
        is_integer(node.y_type)
            ? static_cast<std::uint64_t>(
                  finish(stages.output, quotient, {node.y_zero_point[parameter], range_of(node.y_type), 0}))
            : output_bits(node, parameter, quotient);
    reference::store_bits(y, bits_of(node.y_type), i, bits);
  }
}

void run_dequantize(const Stages& stages, const DequantizeLinear& node, const LinearPlacement& placement,
                    std::span<const std::byte> x, std::span<std::byte> y) {
  const LinearStages& linear = stages.linear;
  const FloatFormat& format = reference::float_format(node.y_type);
  const std::int64_t count = linear.count(node.layout.elements());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t parameter = linear.parameter(placement, i);
    const double value = reference::value_at(node.x_type, x, i);
    const double zero_point = node.x_zero_point[parameter];
    const double scale = linear.operand(format, node.x_scale[parameter]);
    const std::uint64_t product =
        linear.multiply(node, value, zero_point, linear.difference(node, value, zero_point), scale);
    reference::store_bits(y, bits_of(node.y_type), i, linear.result(format, product));
  }
}

}  // namespace qconform::diagnose
