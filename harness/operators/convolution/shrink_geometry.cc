// Plainer strides, dilations and pads, and fewer spatial axes.
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "harness/model/operator.h"
#include "harness/model/reductions/reductions.h"
#include "harness/model/text.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/hooks.h"
#include "reference/convolution/geometry.h"

namespace qconform::shrink {

namespace {

using Indices = std::vector<std::int64_t>;
using reference::SpatialAxis;

// Stride or dilation 1 along one axis, with as many positions cut off the end of the input as keep
// the number of outputs.
std::optional<Case> with_plain_step(const Case& test_case, const char* name, std::size_t axis) {
  const auto geometry = geometry_of(test_case);
  const Indices* values = integers_of(test_case, name);
  if (!geometry || values == nullptr || axis >= values->size() || (*values)[axis] == 1) return std::nullopt;
  SpatialAxis a = geometry->axes[axis];
  (std::string_view(name) == "strides" ? a.stride : a.dilation) = 1;
  Case result = test_case;
  (*integers_of(result, name))[axis] = 1;
  const std::int64_t needed = (a.output - 1) * a.stride + a.kernel_extent() - a.pad_begin - a.pad_end;
  if (needed >= 1 && needed < a.input) {
    Tensor& x = *result.inputs[*position_of(result, "x")];
    x = with_positions(x, 2 + axis, positions(needed));
  }
  return result;
}

std::optional<Case> with_explicit_pads(const Case& test_case) {
  const auto geometry = geometry_of(test_case);
  if (!geometry || test_case.attribute("auto_pad") == nullptr) return std::nullopt;
  Case result = test_case;
  erase_attribute(result, "auto_pad");
  erase_attribute(result, "pads");
  const std::size_t rank = geometry->axes.size();
  Indices pads(2 * rank);
  bool are_zero = true;
  for (std::size_t i = 0; i < rank; ++i) {
    pads[i] = geometry->axes[i].pad_begin;
    pads[i + rank] = geometry->axes[i].pad_end;
    are_zero = are_zero && pads[i] == 0 && pads[i + rank] == 0;
  }
  if (!are_zero) set_attribute(result, "pads", std::move(pads));
  return result;
}

}  // namespace

void plain_strides(Subject& subject) {
  for (const char* name : {"strides", "dilations"}) {
    const Indices* values = integers_of(subject.current(), name);
    const std::size_t axes = values == nullptr ? 0 : values->size();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (auto candidate = with_plain_step(subject.current(), name, axis)) {
        if (subject.offer(std::move(*candidate))) continue;
      }
      reduce_entry(subject, name, axis, 1);
    }
  }
}

void smaller_pads(Subject& subject) {
  if (auto candidate = with_explicit_pads(subject.current())) subject.offer(std::move(*candidate));
  const Indices* pads = integers_of(subject.current(), "pads");
  const std::size_t entries = pads == nullptr ? 0 : pads->size();
  for (std::size_t entry = 0; entry < entries; ++entry) reduce_entry(subject, "pads", entry, 0);
}

// A convolution of one dimension more than it needs: one of two positions of input and kernel is 1.
std::optional<Case> without_spatial_axis(const Case& test_case, std::size_t dimension) {
  if (dimension < 2) return std::nullopt;
  const std::size_t axis = dimension - 2;
  const auto geometry = geometry_of(test_case);
  if (!geometry || axis >= geometry->axes.size() || geometry->axes.size() <= 2) return std::nullopt;
  const reference::SpatialAxis& a = geometry->axes[axis];
  if (a.input != 1 || a.kernel != 1 || a.output != 1) return std::nullopt;
  Case result = test_case;
  for (const char* name : {"x", "w"}) {
    Tensor& tensor = *result.inputs[*position_of(result, name)];
    tensor.shape.erase(tensor.shape.begin() + 2 + static_cast<std::ptrdiff_t>(axis));
  }
  const std::size_t rank = geometry->axes.size();
  for (const char* name : {"kernel_shape", "strides", "dilations", "pads"}) {
    auto* values = integers_of(result, name);
    if (values == nullptr) continue;
    for (std::size_t i = values->size(); i-- > 0;) {
      if (i % rank == axis) values->erase(values->begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return result;
}

std::int64_t channel_of_wrong_element(const Case& /*test_case*/, const Tensor& parameter,
                                      const Indices& wrong_element) {
  return wrong_element.size() > 1 && wrong_element[1] < parameter.elements() ? wrong_element[1] : 0;
}

// The index spaces of a convolution: images, groups, channels, positions, taps.

namespace {

void cut_input(Case& test_case, std::string_view name, std::size_t axis, const Indices& keep) {
  const auto position = position_of(test_case, name);
  if (!position || test_case.input(*position) == nullptr) return;
  Tensor& tensor = *test_case.inputs[*position];
  tensor = with_positions(tensor, axis, keep);
}

// Weights and everything that has one value for each output channel.
void cut_output_channels(Case& test_case, std::int64_t channels, const Indices& keep) {
  cut_input(test_case, "w", 0, keep);
  for (const char* name : {"w_scale", "w_zero_point", "B"}) {
    const Tensor* parameter = tensor_named(test_case, name);
    if (parameter != nullptr && parameter->shape == Indices{channels}) cut_input(test_case, name, 0, keep);
  }
}

void cut_taps(Case& test_case, std::size_t axis, const Indices& keep) {
  cut_input(test_case, "w", 2 + axis, keep);
  if (auto* kernel = integers_of(test_case, "kernel_shape"); kernel != nullptr && axis < kernel->size()) {
    (*kernel)[axis] = static_cast<std::int64_t>(keep.size());
  }
}

class ConvolutionExtents {
 public:
  ConvolutionExtents(const reference::ConvolutionGeometry& geometry, const Indices& wrong_element)
      : g_(geometry), wrong_(wrong_element) {}

  [[nodiscard]] std::vector<Extent> list() {
    add("image", g_.batch, wrong_index(0), [](Case& c, const Indices& keep) { cut_input(c, "x", 0, keep); });
    add_channels();
    for (std::size_t axis = 0; axis < g_.axes.size(); ++axis) add_axis(axis);
    return std::move(extents_);
  }

 private:
  template <typename Cut>
  void add(std::string name, std::int64_t length, std::int64_t focus, Cut cut) {
    if (length < 2) return;
    extents_.push_back({std::move(name), length, focus, [cut](const Case& test_case, const Indices& keep) {
                          Case result = test_case;
                          cut(result, keep);
                          return result;
                        }});
  }

  [[nodiscard]] std::int64_t wrong_index(std::size_t dimension) const {
    return dimension < wrong_.size() ? wrong_[dimension] : -1;
  }

  void add_channels() {
    const reference::ConvolutionGeometry& g = g_;
    const std::int64_t outputs = g.group_output_channels();
    const std::int64_t channel = outputs == 0 ? -1 : wrong_index(1);
    const std::int64_t inputs = g.group_input_channels();
    const std::int64_t groups = g.group;
    const std::int64_t all_inputs = g.input_channels;
    const std::int64_t all_outputs = g.output_channels;
    add("group", groups, channel < 0 ? -1 : channel / outputs, [=](Case& c, const Indices& keep) {
      cut_input(c, "x", 1, expand_blocks(keep, inputs, all_inputs));
      cut_output_channels(c, all_outputs, expand_blocks(keep, outputs, all_outputs));
      set_attribute(c, "group", static_cast<std::int64_t>(keep.size()));
    });
    // Takes groups away but keeps all output channels: they are what some kernels work on at once.
    add("group of all output channels", groups, channel < 0 ? -1 : channel / outputs,
        [=](Case& c, const Indices& keep) {
          const auto left = static_cast<std::int64_t>(keep.size());
          if (left == 0 || all_outputs % left != 0) return;
          cut_input(c, "x", 1, expand_blocks(keep, inputs, all_inputs));
          set_attribute(c, "group", left);
        });
    add("output channel", outputs, channel < 0 ? -1 : channel % outputs, [=](Case& c, const Indices& keep) {
      cut_output_channels(c, all_outputs, repeat_in_blocks(keep, outputs, groups));
    });
    add("input channel", inputs, -1, [=](Case& c, const Indices& keep) {
      cut_input(c, "x", 1, repeat_in_blocks(keep, inputs, groups));
      cut_input(c, "w", 1, keep);
    });
  }

  void add_axis(std::size_t axis) {
    const reference::SpatialAxis& a = g_.axes[axis];
    const std::string number = " " + std::to_string(axis);
    if (a.output == 1 && a.dilation == 1 && a.stride == 1) add_taps_of_one_window(axis);
    add("position" + number, a.input, -1, [=](Case& c, const Indices& keep) { cut_input(c, "x", 2 + axis, keep); });
    add("tap" + number, a.kernel, -1, [=](Case& c, const Indices& keep) { cut_taps(c, axis, keep); });
    if (a.output < 2) return;
    add("tap at the same output" + number, a.kernel, -1, [=](Case& c, const Indices& keep) {
      const auto count = static_cast<std::int64_t>(keep.size());
      if (keep.back() - keep.front() + 1 != count) return;
      if (auto cut = with_taps(c, axis, keep.front(), count)) c = std::move(*cut);
    });
  }

  // A single window: each tap goes with the position, or the pad, that it reads.
  void add_taps_of_one_window(std::size_t axis) {
    const reference::SpatialAxis a = g_.axes[axis];
    const std::size_t rank = g_.axes.size();
    add("tap with its position " + std::to_string(axis), a.kernel, -1, [=](Case& c, const Indices& keep) {
      Indices read;
      std::int64_t before = 0;
      std::int64_t behind = 0;
      for (const std::int64_t tap : keep) {
        const std::int64_t position = tap - a.pad_begin;
        if (position < 0) ++before;
        if (position >= a.input) ++behind;
        if (position >= 0 && position < a.input) read.push_back(position);
      }
      if (read.empty()) return;
      cut_input(c, "x", 2 + axis, read);
      cut_taps(c, axis, keep);
      if (auto* pads = integers_of(c, "pads"); pads != nullptr && pads->size() == 2 * rank) {
        (*pads)[axis] = before;
        (*pads)[axis + rank] = behind;
      }
    });
  }

  const reference::ConvolutionGeometry& g_;
  const Indices& wrong_;
  std::vector<Extent> extents_;
};

}  // namespace

std::vector<Extent> convolution_extents(const Case& test_case, const Indices& wrong_element) {
  const auto geometry = geometry_of(test_case);
  return geometry ? ConvolutionExtents(*geometry, wrong_element).list() : std::vector<Extent>{};
}

namespace {

using reference::ConvolutionGeometry;

// Holds the part of one axis that one output position reads, as an axis of its own with one output.
struct AxisWindow {
  Indices positions;  // positions in the input
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
};

// Returns a window of every position from the first tap to the last.
AxisWindow dense_window(const SpatialAxis& axis, std::int64_t output) {
  const std::int64_t extent = axis.kernel_extent();
  const std::int64_t first = output * axis.stride - axis.pad_begin;
  AxisWindow window{{}, 1, axis.dilation, std::max<std::int64_t>(0, -first), 0};
  for (std::int64_t at = first; at < first + extent; ++at) {
    if (at >= 0 && at < axis.input) window.positions.push_back(at);
  }
  window.pad_end = extent - window.pad_begin - static_cast<std::int64_t>(window.positions.size());
  return window;
}

// Only the positions that a tap reads, side by side.
AxisWindow compact_window(const SpatialAxis& axis, std::int64_t output) {
  AxisWindow window;
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
AxisWindow padding_window(const SpatialAxis& axis, bool compact) {
  const std::int64_t extent = compact ? axis.kernel : axis.kernel_extent();
  return {{0}, 2, compact ? 1 : axis.dilation, extent, 0};
}

AxisWindow window_of(const SpatialAxis& axis, std::int64_t output, bool compact) {
  AxisWindow window = compact ? compact_window(axis, output) : dense_window(axis, output);
  if (window.positions.empty()) return padding_window(axis, compact);
  return window;
}

Case with_windows(Case test_case, const std::vector<AxisWindow>& windows) {
  Tensor& x = *test_case.inputs[*position_of(test_case, "x")];
  Indices strides;
  Indices dilations;
  Indices pads(2 * windows.size());
  for (std::size_t axis = 0; axis < windows.size(); ++axis) {
    const AxisWindow& window = windows[axis];
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

// One output channel; its parameters as scalars.
void keep_output_channel(Case& test_case, const ConvolutionGeometry& g, std::int64_t channel) {
  cut_input(test_case, "w", 0, Indices{channel});
  erase_attribute(test_case, "group");
  for (const char* name : {"w_scale", "w_zero_point", "B"}) {
    const auto at = position_of(test_case, name);
    if (!at || test_case.input(*at) == nullptr || test_case.input(*at)->shape != Indices{g.output_channels}) continue;
    Tensor& parameter = *test_case.inputs[*at];
    const bool is_bias = std::string_view(name) == "B";
    parameter = is_bias ? with_positions(parameter, 0, Indices{channel}) : element_as_scalar(parameter, channel);
  }
}

// One image and one output channel, so one group.
Case with_channel(Case test_case, const ConvolutionGeometry& g, std::int64_t image, std::int64_t channel) {
  const std::int64_t group = channel / g.group_output_channels();
  Indices inputs = positions(g.group_input_channels());
  for (std::int64_t& input : inputs) input += group * g.group_input_channels();
  cut_input(test_case, "x", 0, Indices{image});
  cut_input(test_case, "x", 1, inputs);
  keep_output_channel(test_case, g, channel);
  return test_case;
}

// All of x, of which each image has one window: that of all channels at its first position. Weights are those of the
// first tap or the last.
Case with_one_output_an_image(Case test_case, const ConvolutionGeometry& g, std::int64_t channel, bool of_first_tap) {
  keep_output_channel(test_case, g, channel);
  Indices inputs = positions(g.input_channels);
  for (std::int64_t& input : inputs) input %= g.group_input_channels();
  cut_input(test_case, "w", 1, inputs);
  Indices strides;
  for (std::size_t axis = 0; axis < g.axes.size(); ++axis) {
    cut_input(test_case, "w", 2 + axis, Indices{of_first_tap ? 0 : g.axes[axis].kernel - 1});
    strides.push_back(g.axes[axis].input);
  }
  test_case.node().attributes.clear();
  set_attribute(test_case, "strides", std::move(strides));
  return test_case;
}

// Mirroring w about its zero point, or x about the middle of its type, changes the sign of single products.
enum class Mirrored : std::uint8_t { nothing, w, x };

// Every weight at `distance` from its zero point on the side where it is, or as it is for 0. Errors of single products
// may have another size and sign than the sum's, which are to stay.
Case with_weights(Case test_case, std::int64_t distance, Mirrored mirrored) {
  const std::size_t at = *position_of(test_case, "w");
  const std::vector<Role> roles = roles_of(test_case);
  const auto role = std::find_if(roles.begin(), roles.end(), [&](const Role& one) { return one.position == at; });
  Tensor& w = *test_case.inputs[at];
  for (std::int64_t i = 0; i < w.elements(); ++i) {
    const std::int64_t neutral = neutral_value(test_case, *role, i);
    const std::int64_t value = integer_at(w, i) - neutral;
    const std::int64_t size = distance == 0 ? std::abs(value) : distance;
    const bool is_below = (value < 0) != (mirrored == Mirrored::w);
    set_bits_at(w, i, integer_bits(w.type, is_below ? neutral - size : neutral + size));
  }
  if (mirrored != Mirrored::x) return test_case;
  for (std::byte& byte : test_case.inputs[*position_of(test_case, "x")]->bytes) byte = ~byte;
  return test_case;
}

}  // namespace

// A failure that needs large images needs neither large kernels nor many outputs.
void one_output_an_image(Subject& subject) {
  const auto g = geometry_of(subject.current());
  if (!g || g->batch < 2 || g->output_positions() * g->output_channels < 2) return;
  constexpr std::int64_t kChannels = 8;
  const Indices wrong = subject.wrong_element();
  const std::int64_t first = wrong.size() < 2 ? 0 : wrong[1];
  for (std::int64_t i = 0; i < std::min(kChannels, g->output_channels); ++i) {
    const std::int64_t channel = (first + i) % g->output_channels;
    for (const bool of_first_tap : {true, false}) {
      const Case candidate = with_one_output_an_image(subject.current(), *g, channel, of_first_tap);
      for (const std::int64_t distance : {0, 1, 8, 64}) {
        for (const Mirrored mirrored : {Mirrored::nothing, Mirrored::w, Mirrored::x}) {
          if (subject.exhausted() || subject.offer(with_weights(candidate, distance, mirrored))) return;
        }
      }
    }
  }
}

void jump_to_window(Subject& subject) {
  const auto g = geometry_of(subject.current());
  const Indices wrong = subject.wrong_element();
  if (!g || wrong.size() != g->axes.size() + 2) return;
  for (const bool compact : {true, false}) {
    std::vector<AxisWindow> windows;
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
