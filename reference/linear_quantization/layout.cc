#include "reference/linear_quantization/layout.h"

#include <string>

namespace qconform::reference {
namespace {

std::int64_t product(std::span<const std::int64_t> shape) {
  std::int64_t result = 1;
  for (const std::int64_t dimension : shape) result *= dimension;
  return result;
}

// Per-tensor parameters. The axis is ignored by the operator, but one outside the rank shows that
// the model is not what its author meant: either answer is right.
QuantizationLayout per_tensor(std::span<const std::int64_t> x_shape, AxisAttribute axis, Contract& contract) {
  const auto rank = static_cast<std::int64_t>(x_shape.size());
  const bool is_default = axis.value == 1;
  if (axis.exists && !is_default && (axis.value < -rank || axis.value >= rank)) {
    contract.allow("D7", "axis", "unused, and outside [-rank, rank-1]: " + std::to_string(axis.value));
  }
  return {.outer = 1, .channels = 1, .inner = product(x_shape)};
}

}  // namespace

std::optional<QuantizationLayout> resolve_layout(std::span<const std::int64_t> x_shape,
                                                 std::span<const std::int64_t> scale_shape, const char* scale_field,
                                                 AxisAttribute axis, Contract& contract) {
  const auto rank = static_cast<std::int64_t>(x_shape.size());
  if (scale_shape.empty()) return per_tensor(x_shape, axis, contract);
  if (scale_shape.size() > 1) {
    contract.violate("D7", scale_field,
                     "expected a scalar or one dimension, got rank " + std::to_string(scale_shape.size()));
    return std::nullopt;
  }
  const std::int64_t length = scale_shape[0];
  const bool axis_in_range = axis.exists && axis.value >= -rank && axis.value < rank;
  if (length == 1 &&
      !(axis_in_range && x_shape[static_cast<std::size_t>(axis.value < 0 ? axis.value + rank : axis.value)] == 1)) {
    contract.allow("D7", scale_field, "shape [1] where a scalar is meant");
    return per_tensor(x_shape, axis, contract);
  }
  if (!axis.exists) {
    contract.violate("D7", scale_field, "this version takes a scalar only, got shape [" + std::to_string(length) + "]");
    return std::nullopt;
  }
  if (!axis_in_range) {
    contract.violate("D7", "axis",
                     "expected a value in [-" + std::to_string(rank) + ", " + std::to_string(rank - 1) +
                         "] (rank of x is " + std::to_string(rank) + "), got " + std::to_string(axis.value));
    return std::nullopt;
  }
  const auto dimension = static_cast<std::size_t>(axis.value < 0 ? axis.value + rank : axis.value);
  if (x_shape[dimension] != length) {
    contract.violate("D7", scale_field,
                     "expected one value for each of the " + std::to_string(x_shape[dimension]) +
                         " positions of axis " + std::to_string(axis.value) + ", got " + std::to_string(length));
    return std::nullopt;
  }
  return QuantizationLayout{
      .outer = product(x_shape.first(dimension)), .channels = length, .inner = product(x_shape.subspan(dimension + 1))};
}

}  // namespace qconform::reference
