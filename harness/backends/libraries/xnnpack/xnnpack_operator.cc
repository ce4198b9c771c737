#include "harness/backends/libraries/xnnpack/xnnpack_operator.h"

#include <fmt/format.h>

namespace qconform::libraries::xnn {
namespace {

std::string_view text_of(xnn_status status) {
  switch (status) {
    case xnn_status_success: return "success";
    case xnn_status_uninitialized: return "not initialized";
    case xnn_status_invalid_parameter: return "invalid parameter";
    case xnn_status_invalid_state: return "invalid state";
    case xnn_status_unsupported_parameter: return "unsupported parameter";
    case xnn_status_unsupported_hardware: return "unsupported hardware";
    case xnn_status_out_of_memory: return "out of memory";
    default: return "an unknown status";
  }
}

}  // namespace

std::string refusal_text(std::string_view call, xnn_status status) {
  return fmt::format("XNNPACK: {}: {}", call, text_of(status));
}

std::array<reference::SpatialAxis, 2> axes_of(const reference::ConvolutionGeometry& geometry) {
  if (geometry.axes.size() == 2) return {geometry.axes[0], geometry.axes[1]};
  reference::SpatialAxis one = geometry.axes.front();
  one.input = one.kernel = one.stride = one.dilation = one.output = 1;
  one.pad_begin = one.pad_end = 0;
  return {one, geometry.axes.front()};
}

}  // namespace qconform::libraries::xnn
