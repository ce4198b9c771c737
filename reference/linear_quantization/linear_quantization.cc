#include "reference/linear_quantization/linear_quantization.h"

#include <algorithm>
#include <string>
#include <vector>

#include "reference/numerics/shape.h"

namespace qconform::reference {
namespace {

using Shape = std::span<const std::int64_t>;

// The dimension that `axis` names, if it is in [-rank, rank-1].
std::optional<std::size_t> dimension_of(Shape x_shape, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(x_shape.size());
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

// Per-tensor parameters. Axis and block size are ignored by the operator, but an axis outside the
// rank, or a block size, shows that the model is not what its author meant: either answer is right.
QuantizationLayout per_tensor(Shape x_shape, const PlacementAttributes& attributes, Contract& contract) {
  const bool is_default = attributes.axis == 1;
  if (attributes.has_axis && !is_default && !dimension_of(x_shape, attributes.axis)) {
    contract.allow("D7", "axis", "unused, and outside [-rank, rank-1]: " + std::to_string(attributes.axis));
  }
  if (attributes.block_size > 0) {
    contract.allow("D7", "block_size", "unused beside one scale: " + std::to_string(attributes.block_size));
  }
  return {.outer = 1, .channels = 1, .inner = elements_of(x_shape)};
}

std::nullopt_t refuse_axis(Shape x_shape, std::int64_t axis, Contract& contract) {
  const auto rank = static_cast<std::int64_t>(x_shape.size());
  contract.violate("D7", "axis",
                   "expected a value in [-" + std::to_string(rank) + ", " + std::to_string(rank - 1) +
                       "] (rank of x is " + std::to_string(rank) + "), got " + std::to_string(axis));
  return std::nullopt;
}

std::optional<QuantizationLayout> per_axis(Shape x_shape, std::int64_t length, const char* scale_field,
                                           const PlacementAttributes& attributes, Contract& contract) {
  if (!attributes.has_axis) {
    contract.violate("D7", scale_field, "this version takes a scalar only, got shape [" + std::to_string(length) + "]");
    return std::nullopt;
  }
  const auto dimension = dimension_of(x_shape, attributes.axis);
  if (!dimension) return refuse_axis(x_shape, attributes.axis, contract);
  if (x_shape[*dimension] != length) {
    contract.violate("D7", scale_field,
                     "expected one value for each of the " + std::to_string(x_shape[*dimension]) +
                         " positions of axis " + std::to_string(attributes.axis) + ", got " + std::to_string(length));
    return std::nullopt;
  }
  return QuantizationLayout{.outer = elements_of(x_shape.first(*dimension)),
                            .channels = length,
                            .inner = elements_of(x_shape.subspan(*dimension + 1))};
}

// The shape of x, its `dimension` counted in blocks.
std::vector<std::int64_t> blocked_shape(Shape x_shape, std::size_t dimension, std::int64_t block_size) {
  std::vector<std::int64_t> shape(x_shape.begin(), x_shape.end());
  shape[dimension] = QuantizationLayout{.channels = x_shape[dimension], .block = block_size}.blocks();
  return shape;
}

// Whether the scale has the shape that blocks ask for.
bool is_blocked(Shape x_shape, Shape scale_shape, const PlacementAttributes& attributes) {
  const auto dimension = dimension_of(x_shape, attributes.axis);
  if (attributes.block_size == 0 || !dimension) return false;
  const std::vector<std::int64_t> expected = blocked_shape(x_shape, *dimension, attributes.block_size);
  return std::equal(expected.begin(), expected.end(), scale_shape.begin(), scale_shape.end());
}

std::optional<QuantizationLayout> blocked(Shape x_shape, Shape scale_shape, const char* scale_field,
                                          const PlacementAttributes& attributes, Contract& contract) {
  const auto dimension = dimension_of(x_shape, attributes.axis);
  if (!dimension) return refuse_axis(x_shape, attributes.axis, contract);
  if (!is_blocked(x_shape, scale_shape, attributes)) {
    contract.violate("D7", scale_field,
                     "expected shape " + shape_text(blocked_shape(x_shape, *dimension, attributes.block_size)) +
                         " (blocks of " + std::to_string(attributes.block_size) + " along axis " +
                         std::to_string(attributes.axis) + "), got " + shape_text(scale_shape));
    return std::nullopt;
  }
  return QuantizationLayout{.outer = elements_of(x_shape.first(*dimension)),
                            .channels = x_shape[*dimension],
                            .inner = elements_of(x_shape.subspan(*dimension + 1)),
                            .block = attributes.block_size};
}

}  // namespace

std::optional<QuantizationLayout> resolve_layout(Shape x_shape, Shape scale_shape, const char* scale_field,
                                                 const PlacementAttributes& attributes, Contract& contract) {
  if (attributes.block_size < 0) {
    contract.violate("D7", "block_size", "expected at least 0, got " + std::to_string(attributes.block_size));
    return std::nullopt;
  }
  if (elements_of(scale_shape) == 1 && !is_blocked(x_shape, scale_shape, attributes)) {
    return per_tensor(x_shape, attributes, contract);
  }
  if (attributes.block_size > 0) return blocked(x_shape, scale_shape, scale_field, attributes, contract);
  if (scale_shape.size() > 1) {
    const char* const unless = attributes.has_block_size ? " without a block_size" : "";
    contract.violate("D7", scale_field,
                     std::string("expected a scalar or one dimension") + unless + ", got rank " +
                         std::to_string(scale_shape.size()));
    return std::nullopt;
  }
  return per_axis(x_shape, scale_shape[0], scale_field, attributes, contract);
}

}  // namespace qconform::reference
