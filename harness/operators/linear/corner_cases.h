// Corner cases of QuantizeLinear and DequantizeLinear.
#pragma once

#include <cstddef>
#include <span>

#include "harness/core/corner_cases/corner_case.h"
#include "reference/linear_quantization/dequantize_linear.h"
#include "reference/linear_quantization/quantize_linear.h"

namespace qconform {

/// `axis` is the node's attribute. x as the reference takes it.
void count_quantize_corner_cases(const reference::QuantizeLinear& node, std::int64_t axis, std::span<const std::byte> x,
                                 CornerCaseCounts& counts);
void count_dequantize_corner_cases(const reference::DequantizeLinear& node, std::int64_t axis,
                                   std::span<const std::byte> x, CornerCaseCounts& counts);

}  // namespace qconform
