// Hazards of QuantizeLinear and DequantizeLinear.
#pragma once

#include <cstddef>
#include <span>

#include "harness/core/hazards/hazard.h"
#include "reference/dequantize_linear/dequantize_linear.h"
#include "reference/quantize_linear/quantize_linear.h"

namespace qconform {

/// `axis` is the node's attribute. x as the reference takes it.
void count_quantize_hazards(const reference::QuantizeLinear& node, std::int64_t axis, std::span<const std::byte> x,
                            HazardCounts& counts);
void count_dequantize_hazards(const reference::DequantizeLinear& node, std::int64_t axis, std::span<const std::byte> x,
                              HazardCounts& counts);

}  // namespace qconform
