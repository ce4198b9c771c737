// Plainer strides, dilations and pads, and fewer spatial axes.
#include <string_view>
#include <utility>

#include "harness/model/operator.h"
#include "harness/model/reductions/edits.h"
#include "harness/model/reductions/roles.h"
#include "harness/operators/convolution/contract.h"
#include "harness/operators/convolution/shrink.h"
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

}  // namespace qconform::shrink
