// The first and largest step: from a whole output to the one element that is wrong most, with
// exactly what it reads.
#include <algorithm>

#include "harness/engine/shrink/attribute_edit.h"
#include "harness/engine/shrink/roles.h"
#include "harness/engine/shrink/tensor_edit.h"
#include "harness/operators/convolution/contract.h"
#include "harness/operators/convolution/shrink.h"
#include "reference/convolution/geometry.h"

namespace qconform::shrink {
namespace {

using Indices = std::vector<std::int64_t>;
using reference::ConvolutionGeometry;
using reference::SpatialAxis;

// What one output position reads along one axis, as an axis of its own with one output.
struct Window {
  Indices positions;  // of the input
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
};

// Every position from the first tap to the last.
Window dense_window(const SpatialAxis& axis, std::int64_t output) {
  const std::int64_t extent = axis.kernel_extent();
  const std::int64_t first = output * axis.stride - axis.pad_begin;
  Window window{{}, 1, axis.dilation, std::max<std::int64_t>(0, -first), 0};
  for (std::int64_t at = first; at < first + extent; ++at) {
    if (at >= 0 && at < axis.input) window.positions.push_back(at);
  }
  window.pad_end = extent - window.pad_begin - static_cast<std::int64_t>(window.positions.size());
  return window;
}

// Only the positions that a tap reads, side by side.
Window compact_window(const SpatialAxis& axis, std::int64_t output) {
  Window window;
  for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
    const std::int64_t at = output * axis.stride - axis.pad_begin + tap * axis.dilation;
    if (at < 0) ++window.pad_begin;
    if (at >= axis.input) ++window.pad_end;
    if (at >= 0 && at < axis.input) window.positions.push_back(at);
  }
  return window;
}

// A window that reads no position: one position, all of the kernel before it, and the next output
// beyond the end.
Window padding_window(const SpatialAxis& axis, bool compact) {
  const std::int64_t extent = compact ? axis.kernel : axis.kernel_extent();
  return {{0}, 2, compact ? 1 : axis.dilation, extent, 0};
}

Window window_of(const SpatialAxis& axis, std::int64_t output, bool compact) {
  Window window = compact ? compact_window(axis, output) : dense_window(axis, output);
  if (window.positions.empty()) return padding_window(axis, compact);
  return window;
}

Case with_windows(Case test_case, const std::vector<Window>& windows) {
  Tensor& x = *test_case.inputs[*position_of(test_case, "x")];
  Indices strides;
  Indices dilations;
  Indices pads(2 * windows.size());
  for (std::size_t axis = 0; axis < windows.size(); ++axis) {
    const Window& window = windows[axis];
    x = with_positions(x, 2 + axis, window.positions);
    strides.push_back(window.stride);
    dilations.push_back(window.dilation);
    pads[axis] = window.pad_begin;
    pads[axis + windows.size()] = window.pad_end;
  }
  const auto set_or_drop = [&](const char* name, const Indices& values, std::int64_t plain) {
    erase_attribute(test_case, name);
    const auto is_plain = [&](std::int64_t value) { return value == plain; };
    if (!std::all_of(values.begin(), values.end(), is_plain)) set_attribute(test_case, name, values);
  };
  erase_attribute(test_case, "auto_pad");
  set_or_drop("strides", strides, 1);
  set_or_drop("dilations", dilations, 1);
  set_or_drop("pads", pads, 0);
  return test_case;
}

// One image and one output channel, so one group; parameters of that channel as scalars.
Case with_channel(Case test_case, const ConvolutionGeometry& g, std::int64_t image, std::int64_t channel) {
  const std::int64_t group = channel / g.group_output_channels();
  Indices inputs = positions(g.group_input_channels());
  for (std::int64_t& input : inputs) input += group * g.group_input_channels();
  Tensor& x = *test_case.inputs[*position_of(test_case, "x")];
  Tensor& w = *test_case.inputs[*position_of(test_case, "w")];
  x = with_positions(with_positions(x, 0, Indices{image}), 1, inputs);
  w = with_positions(w, 0, Indices{channel});
  erase_attribute(test_case, "group");
  for (const char* name : {"w_scale", "w_zero_point", "B"}) {
    const auto at = position_of(test_case, name);
    if (!at || test_case.input(*at) == nullptr || test_case.input(*at)->shape != Indices{g.output_channels}) continue;
    Tensor& parameter = *test_case.inputs[*at];
    const bool is_bias = std::string_view(name) == "B";
    parameter = is_bias ? with_positions(parameter, 0, Indices{channel}) : element_as_scalar(parameter, channel);
  }
  return test_case;
}

}  // namespace

void jump_to_window(Subject& subject) {
  const auto g = geometry_of(subject.current());
  const Indices wrong = subject.wrong_element();
  if (!g || wrong.size() != g->axes.size() + 2) return;
  for (const bool compact : {true, false}) {
    std::vector<Window> windows;
    for (std::size_t axis = 0; axis < g->axes.size(); ++axis) {
      windows.push_back(window_of(g->axes[axis], wrong[2 + axis], compact));
    }
    const Case& current = subject.current();
    if (subject.offer(with_windows(with_channel(current, *g, wrong[0], wrong[1]), windows))) return;
    if (subject.offer(with_windows(current, windows))) return;
  }
  subject.offer(with_channel(subject.current(), *g, wrong[0], wrong[1]));
}

}  // namespace qconform::shrink
