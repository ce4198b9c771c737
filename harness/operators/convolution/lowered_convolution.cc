#include "harness/operators/convolution/lowered_convolution.h"

#include <algorithm>

namespace qconform {
namespace {

using reference::ConvolutionGeometry;

struct AxisPart {
  std::int64_t begin;
  std::int64_t extent;
};

// Returns the part of the input that the windows of `outputs` read.
AxisPart part_read_by(const reference::SpatialAxis& axis, AxisPart outputs) {
  const std::int64_t first = outputs.begin * axis.stride - axis.pad_begin;
  const std::int64_t end = first + (outputs.extent - 1) * axis.stride + axis.kernel_extent();
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, axis.input);
  return {begin, std::clamp<std::int64_t>(end, begin, axis.input) - begin};
}

Box windows_of(const ConvolutionGeometry& geometry, const Box& output) {
  const std::int64_t first_group = output.begin[1] / geometry.group_output_channels();
  const std::int64_t last_group = (output.begin[1] + output.extent[1] - 1) / geometry.group_output_channels();
  Box box{{output.begin[0], first_group * geometry.group_input_channels()},
          {output.extent[0], (last_group - first_group + 1) * geometry.group_input_channels()}};
  for (std::size_t i = 0; i < geometry.axes.size(); ++i) {
    const AxisPart range = part_read_by(geometry.axes[i], {output.begin[i + 2], output.extent[i + 2]});
    box.begin.push_back(range.begin);
    box.extent.push_back(range.extent);
  }
  return box;
}

Box filters_of(const ConvolutionGeometry& geometry, const Box& output) {
  Box box{{output.begin[1], 0}, {output.extent[1], geometry.group_input_channels()}};
  for (const reference::SpatialAxis& axis : geometry.axes) {
    box.begin.push_back(0);
    box.extent.push_back(axis.kernel);
  }
  return box;
}

}  // namespace

std::int64_t LoweredConvolution::work() const {
  const ConvolutionGeometry& g = operands().geometry;
  std::int64_t work = saturating_product(Lowered::work(), std::max<std::int64_t>(g.group_input_channels(), 1));
  for (const reference::SpatialAxis& axis : g.axes) {
    work = saturating_product(work, std::max<std::int64_t>(axis.kernel, 1));
  }
  return work;
}

std::optional<Box> LoweredConvolution::read_by(InputRole role, const Box& output) const {
  switch (role) {
    case InputRole::parameter: return Box{{output.begin[1]}, {output.extent[1]}};
    case InputRole::weight: return filters_of(operands().geometry, output);
    case InputRole::data: break;
  }
  return windows_of(operands().geometry, output);
}

std::optional<WindowGeometry> LoweredConvolution::windows() const {
  const ConvolutionGeometry& g = operands().geometry;
  WindowGeometry result{g.group_input_channels(), g.group_output_channels(), {}};
  for (const reference::SpatialAxis& axis : g.axes) {
    result.axes.push_back({axis.input, axis.kernel, axis.stride, axis.dilation, axis.pad_begin, axis.pad_end});
  }
  return result;
}

}  // namespace qconform
