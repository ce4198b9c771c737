// The attributes of windows, which convolutions and pools share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/graphs/node_lowering.h"
#include "reference/convolution/geometry.h"

namespace qconform::lowering {

/// As the node states them.
[[nodiscard]] reference::ConvolutionAttributes window_attributes(const NodeLowering& node);

/// One value for each of `rank` spatial dimensions.
struct WindowLists {
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> output_padding;
  std::vector<std::int64_t> pad_begin;
  std::vector<std::int64_t> pad_end;
};
/// With what is absent filled in; strides and dilations are 1 or more, the others 0 or more, all below 2^31.
[[nodiscard]] std::optional<WindowLists> window_lists(const NodeLowering& node, std::size_t rank);

}  // namespace qconform::lowering
