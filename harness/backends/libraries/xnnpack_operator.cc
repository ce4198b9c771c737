#include "harness/backends/libraries/xnnpack_operator.h"

namespace qconform::libraries::xnn {

std::array<reference::SpatialAxis, 2> axes_of(const reference::ConvolutionGeometry& geometry) {
  if (geometry.axes.size() == 2) return {geometry.axes[0], geometry.axes[1]};
  reference::SpatialAxis one = geometry.axes.front();
  one.input = one.kernel = one.stride = one.dilation = one.output = 1;
  one.pad_begin = one.pad_end = 0;
  return {one, geometry.axes.front()};
}

}  // namespace qconform::libraries::xnn
