#include "harness/engine/shrink/extents.h"

#include <optional>
#include <utility>

#include "harness/engine/shrink/attribute_edit.h"
#include "harness/engine/shrink/roles.h"
#include "harness/engine/shrink/tensor_edit.h"
#include "harness/operators/convolution/contract.h"
#include "reference/convolution/geometry.h"

namespace qconform::shrink {
namespace {

using Indices = std::vector<std::int64_t>;

// `keep` names blocks of `size` neighbouring indices.
Indices expand_blocks(const Indices& keep, std::int64_t size, std::int64_t length) {
  Indices result;
  for (const std::int64_t block : keep) {
    for (std::int64_t i = 0; i < size && block * size + i < length; ++i) result.push_back(block * size + i);
  }
  return result;
}

// `keep` names indices within each of `blocks` blocks of `size`.
Indices repeat_in_blocks(const Indices& keep, std::int64_t size, std::int64_t blocks) {
  Indices result;
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (const std::int64_t index : keep) result.push_back(block * size + index);
  }
  return result;
}

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

// The scale and the zero point, whatever they are called.
std::vector<std::size_t> linear_parameters(const Case& test_case) {
  std::vector<std::size_t> result;
  for (const Role& role : roles_of(test_case)) {
    if (role.part == Part::scale || role.part == Part::zero_point) result.push_back(role.position);
  }
  return result;
}

// Which indices of the parameters go with the indices kept of x: the same, whole blocks, or none.
enum class Along : std::uint8_t { none, same, blocks, within_blocks };

Extent linear_extent(std::string name, std::int64_t length, std::int64_t focus, std::size_t axis, Along along,
                     std::int64_t block) {
  return {std::move(name), length, focus, [=](const Case& test_case, const Indices& keep) {
            Case result = test_case;
            Tensor& x = *result.inputs[0];
            const std::int64_t whole = x.shape[axis];
            const Indices kept = along == Along::blocks          ? expand_blocks(keep, block, whole)
                                 : along == Along::within_blocks ? repeat_in_blocks(keep, block, whole / block)
                                                                 : keep;
            x = with_positions(x, axis, kept);
            if (along == Along::within_blocks) {
              set_attribute(result, "block_size", static_cast<std::int64_t>(keep.size()));
            }
            if (along != Along::same && along != Along::blocks) return result;
            for (const std::size_t position : linear_parameters(test_case)) {
              Tensor& parameter = *result.inputs[position];
              const std::size_t parameter_axis = parameter.shape.size() == 1 ? 0 : axis;
              if (parameter_axis < parameter.shape.size() && parameter.shape[parameter_axis] > keep.back()) {
                parameter = with_positions(parameter, parameter_axis, keep);
              }
            }
            return result;
          }};
}

std::vector<Extent> linear_extents(const Case& test_case, const Indices& wrong_element) {
  std::vector<Extent> result;
  const Tensor* x = test_case.input(0);
  const Tensor* scale = test_case.input(1);
  if (x == nullptr || scale == nullptr) return result;
  const auto rank = static_cast<std::int64_t>(x->shape.size());
  const std::int64_t stated = integer_of(test_case, "axis", 1);
  const std::int64_t axis = stated < 0 ? stated + rank : stated;
  const std::int64_t block = integer_of(test_case, "block_size", 0);
  const bool is_blocked = block > 0 && scale->shape.size() == x->shape.size() && rank > 0;
  for (std::size_t i = 0; i < x->shape.size(); ++i) {
    const std::string number = " " + std::to_string(i);
    const std::int64_t focus = i < wrong_element.size() ? wrong_element[i] : -1;
    const bool on_axis = static_cast<std::int64_t>(i) == axis;
    if (is_blocked && on_axis) {
      result.push_back(
          linear_extent("block" + number, scale->shape[i], focus < 0 ? -1 : focus / block, i, Along::blocks, block));
      if (x->shape[i] % block == 0) {
        result.push_back(linear_extent("within blocks" + number, block, focus < 0 ? -1 : focus % block, i,
                                       Along::within_blocks, block));
      }
      continue;
    }
    const bool per_axis = on_axis && scale->shape == Indices{x->shape[i]} && !(x->shape[i] == 1);
    result.push_back(linear_extent("dimension" + number, x->shape[i], focus, i,
                                   per_axis || is_blocked ? Along::same : Along::none, block));
  }
  std::erase_if(result, [](const Extent& extent) { return extent.length < 2; });
  return result;
}

}  // namespace

std::vector<Extent> extents_of(const Case& test_case, const Indices& wrong_element) {
  if (const auto geometry = geometry_of(test_case)) {
    return ConvolutionExtents(*geometry, wrong_element).list();
  }
  if (tensor_named(test_case, "w") != nullptr) return {};
  return linear_extents(test_case, wrong_element);
}

std::vector<Extent> single_axes_of(const Case& test_case) {
  std::vector<Extent> result;
  for (std::size_t position = 0; position < test_case.inputs.size(); ++position) {
    const Tensor* tensor = test_case.input(position);
    if (tensor == nullptr) continue;
    for (std::size_t axis = 0; axis < tensor->shape.size(); ++axis) {
      if (tensor->shape[axis] < 2) continue;
      result.push_back({"input " + std::to_string(position) + " axis " + std::to_string(axis), tensor->shape[axis], -1,
                        [=](const Case& whole, const Indices& keep) {
                          Case cut = whole;
                          cut.inputs[position] = with_positions(*whole.input(position), axis, keep);
                          return cut;
                        }});
    }
  }
  return result;
}

}  // namespace qconform::shrink
