// The index spaces of a convolution: images, groups, channels, positions, taps.
#include <utility>

#include "harness/engine/shrink/attribute_edit.h"
#include "harness/engine/shrink/roles.h"
#include "harness/engine/shrink/tensor_edit.h"
#include "harness/operators/convolution/contract.h"
#include "harness/operators/convolution/shrink.h"

namespace qconform::shrink {
namespace {

using Indices = std::vector<std::int64_t>;

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

}  // namespace qconform::shrink
