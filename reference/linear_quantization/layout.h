// Which scale and zero point belong to which element, for QuantizeLinear and DequantizeLinear
// (rule D7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "reference/contract/remark.h"

namespace qconform::reference {

/// The tensor seen as [outer, channels, inner] in row-major order; parameter c belongs to channel c.
/// Per-tensor parameters: outer = channels = 1 and inner is the element count.
struct QuantizationLayout {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t inner = 1;

  [[nodiscard]] std::int64_t elements() const { return outer * channels * inner; }
};

/// The attribute `axis` of a node: its value, and whether this version of the operator has it.
struct AxisAttribute {
  bool exists = true;
  std::int64_t value = 1;
};

/// Decides the layout from the shape of x and of its scale: a scalar, or [x.shape[axis]] with axis
/// in [-rank, rank-1]. `scale_field` names the scale input in messages.
[[nodiscard]] std::optional<QuantizationLayout> resolve_layout(std::span<const std::int64_t> x_shape,
                                                               std::span<const std::int64_t> scale_shape,
                                                               const char* scale_field, AxisAttribute axis,
                                                               Contract& contract);

}  // namespace qconform::reference
