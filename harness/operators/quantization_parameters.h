// What the cases of QuantizeLinear and DequantizeLinear have in common: scale and zero point.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "harness/operators/node_reader.h"
#include "reference/linear_quantization/layout.h"

namespace qconform {

struct QuantizationParameters {
  reference::QuantizationLayout layout;
  std::vector<float> scale;              ///< one per channel of the layout
  std::vector<std::int32_t> zero_point;  ///< likewise; 0 when omitted
};

/// Reads scale and zero point of the given names (rule D7). Their element types have been checked.
/// `has_axis` is false for version 10, which has per-tensor parameters only.
[[nodiscard]] std::optional<QuantizationParameters> read_quantization(NodeReader& reader, const char* scale_name,
                                                                      const char* zero_point_name, bool has_axis,
                                                                      reference::Contract& contract);

}  // namespace qconform
