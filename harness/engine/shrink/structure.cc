// Reductions of shapes: indices of the extents, dimensions, optional inputs.
#include <algorithm>

#include "harness/engine/shrink/attribute_edit.h"
#include "harness/engine/shrink/extents.h"
#include "harness/engine/shrink/reductions.h"
#include "harness/engine/shrink/roles.h"
#include "harness/engine/shrink/tensor_edit.h"
#include "harness/operators/convolution/contract.h"
#include "harness/operators/operator.h"

namespace qconform::shrink {
namespace {

using Indices = std::vector<std::int64_t>;
using List = std::vector<Extent> (*)(const Subject&);

std::vector<Extent> own_extents(const Subject& subject) {
  return extents_of(subject.current(), subject.wrong_element());
}

std::vector<Extent> single_axes(const Subject& subject) {
  return single_axes_of(subject.current());
}

// The extent of that name as the case is now; indices may have gone with those of another.
std::optional<Extent> find_extent(const Subject& subject, List list, const std::string& name) {
  for (Extent& extent : list(subject)) {
    if (extent.name == name) return std::move(extent);
  }
  return std::nullopt;
}

Indices without(std::int64_t length, std::int64_t begin, std::int64_t count) {
  Indices keep;
  for (std::int64_t i = 0; i < length; ++i) {
    if (i < begin || i >= begin + count) keep.push_back(i);
  }
  return keep;
}

// From this length on the number of indices is searched before which of them matter.
constexpr std::int64_t kLong = 64;

// The fewest of the first indices that are enough, as far as binary search finds them: of thousands
// that are alike, no more than that can be told.
void cut_to_prefix(Subject& subject, List list, const std::string& name) {
  std::int64_t refused = 0;
  for (auto extent = find_extent(subject, list, name); extent && !subject.exhausted();) {
    if (extent->length < kLong || extent->length - refused <= 1) return;
    const std::int64_t middle = refused == 0 ? 1 : refused + (extent->length - refused) / 2;
    if (subject.offer(extent->cut(subject.current(), positions(middle)))) {
      extent = find_extent(subject, list, name);
    } else {
      refused = middle;
    }
  }
}

// Delta debugging: the one index that matters, then halves, quarters, ... left out.
void cut_extent(Subject& subject, List list, const std::string& name) {
  auto extent = find_extent(subject, list, name);
  if (!extent) return;
  if (extent->focus >= 0 && subject.offer(extent->cut(subject.current(), {extent->focus}))) return;
  cut_to_prefix(subject, list, name);
  extent = find_extent(subject, list, name);
  if (!extent) return;
  for (std::int64_t chunk = (extent->length + 1) / 2;
       chunk * most_pieces(extent->length) >= extent->length && !subject.exhausted();) {
    for (std::int64_t begin = 0; extent && begin < extent->length && chunk < extent->length;) {
      if (subject.exhausted()) return;
      if (subject.offer(extent->cut(subject.current(), without(extent->length, begin, chunk)))) {
        extent = find_extent(subject, list, name);
      } else {
        begin += chunk;
      }
    }
    if (!extent || chunk == 1) return;
    chunk = std::min(chunk / 2, extent->length / 2);
  }
}

void cut_all(Subject& subject, List list) {
  std::vector<std::string> names;
  for (const Extent& extent : list(subject)) names.push_back(extent.name);
  for (const std::string& name : names) cut_extent(subject, list, name);
}

// A convolution of one dimension more than it needs: one of two positions of input and kernel is 1.
std::optional<Case> without_spatial_axis(const Case& test_case, std::size_t axis) {
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

// x of an element-wise operator without a dimension of length 1, the quantized axis still the same.
std::optional<Case> without_dimension(const Case& test_case, std::size_t dimension) {
  const Tensor* scale = test_case.input(1);
  if (tensor_named(test_case, "w") != nullptr || scale == nullptr || test_case.input(0) == nullptr) return std::nullopt;
  if (dimension >= test_case.input(0)->shape.size() || test_case.input(0)->shape[dimension] != 1) return std::nullopt;
  Case result = test_case;
  const auto drop = [&](Tensor& tensor) {
    tensor.shape.erase(tensor.shape.begin() + static_cast<std::ptrdiff_t>(dimension));
  };
  const auto rank = static_cast<std::int64_t>(test_case.input(0)->shape.size());
  const std::int64_t stated = integer_of(test_case, "axis", 1);
  const std::int64_t axis = stated < 0 ? stated + rank : stated;
  drop(*result.inputs[0]);
  if (scale->shape.empty()) return result;
  if (axis == static_cast<std::int64_t>(dimension)) return std::nullopt;
  if (scale->shape.size() > 1) {
    for (const std::size_t position : {std::size_t{1}, std::size_t{2}}) {
      if (result.input(position) != nullptr && result.input(position)->shape.size() > dimension) {
        drop(*result.inputs[position]);
      }
    }
  }
  if (stated >= 0 && static_cast<std::int64_t>(dimension) < axis) set_attribute(result, "axis", axis - 1);
  if (stated < 0 && static_cast<std::int64_t>(dimension) > axis) set_attribute(result, "axis", stated + 1);
  return result;
}

}  // namespace

void cut_extents(Subject& subject) {
  cut_all(subject, own_extents);
}

void cut_single_axes(Subject& subject) {
  // Where the inputs fit together, one of them alone cannot shrink.
  if (classify(subject.current()).lowered == nullptr) cut_all(subject, single_axes);
}

void drop_dimensions(Subject& subject) {
  const Tensor* x = subject.current().input(0);
  for (std::size_t dimension = x == nullptr ? 0 : x->shape.size(); dimension-- > 0;) {
    if (auto candidate = without_dimension(subject.current(), dimension)) subject.offer(std::move(*candidate));
    if (dimension < 2) continue;
    if (auto candidate = without_spatial_axis(subject.current(), dimension - 2)) subject.offer(std::move(*candidate));
  }
}

void drop_inputs(Subject& subject) {
  for (std::size_t position = subject.current().inputs.size(); position-- > 0;) {
    Case candidate = subject.current();
    if (position + 1 >= candidate.inputs.size()) {
      candidate.inputs.resize(position);
      if (subject.offer(std::move(candidate))) continue;
      candidate = subject.current();
    }
    if (position >= candidate.inputs.size() || !candidate.inputs[position]) continue;
    candidate.inputs[position].reset();
    subject.offer(std::move(candidate));
  }
}

}  // namespace qconform::shrink
