#include "harness/operators/quantization_parameters.h"

namespace qconform {
namespace {

// Zero point and scale have the same shape; a scalar beside [1] is one value either way.
bool check_zero_point_shape(const Tensor& scale, const Tensor* zero_point, const char* name,
                            reference::Contract& contract) {
  if (zero_point == nullptr || zero_point->shape == scale.shape) return true;
  const bool both_single =
      scale.shape.size() <= 1 && scale.elements() == 1 && zero_point->shape.size() <= 1 && zero_point->elements() == 1;
  if (both_single) {
    contract.allow("D7", name, "shape [1] beside a scalar");
    return true;
  }
  return contract.violate(
      "D7", name,
      "expected the shape of the scale " + shape_text(scale.shape) + ", got " + shape_text(zero_point->shape));
}

}  // namespace

std::optional<QuantizationParameters> read_quantization(NodeReader& reader, const char* scale_name,
                                                        const char* zero_point_name, bool has_axis,
                                                        reference::Contract& contract) {
  const Tensor& scale = *reader.input(scale_name);
  const Tensor* zero_point = reader.input(zero_point_name);
  const reference::AxisAttribute axis{has_axis, reader.int_attribute("axis", 1)};
  const auto layout = resolve_layout(reader.input("x")->shape, scale.shape, scale_name, axis, contract);
  if (!layout) return std::nullopt;
  if (!check_zero_point_shape(scale, zero_point, zero_point_name, contract)) return std::nullopt;
  QuantizationParameters parameters{*layout, float_values(scale), {}};
  parameters.zero_point =
      zero_point == nullptr ? std::vector<std::int32_t>(parameters.scale.size(), 0) : int32_values(*zero_point);
  return parameters;
}

}  // namespace qconform
