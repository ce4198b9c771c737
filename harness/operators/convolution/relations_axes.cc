#include <algorithm>

#include "harness/operators/convolution/relation_parts.h"

namespace qconform::relations {
namespace {

constexpr NotApplicable kNoAxes{"no spatial axes"};
constexpr NotApplicable kAutoPad{"auto_pad places the padding"};

// A further spatial axis of size 1 before axis `before`.
Case with_axis(const Convolution& convolution, std::size_t before, const char* suffix) {
  Convolution derived = convolution;
  const auto insert = [](Values& values, std::size_t position, std::int64_t value) {
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(position), value);
  };
  insert(derived.x.shape, 2 + before, 1);
  insert(derived.w.shape, 2 + before, 1);
  insert(derived.strides, before, 1);
  insert(derived.dilations, before, 1);
  insert(derived.pads, convolution.spatial_rank() + before, 0);  // the end first: it lies behind
  insert(derived.pads, before, 0);
  derived.restated = true;
  return derived.build(suffix);
}

Applied raise_rank(const Subject& subject) {
  const Convolution& base = *convolution_of(subject);
  if (base.has_auto_pad()) return kAutoPad;
  if (base.x.shape.size() >= 8) return NotApplicable{"x has as many axes as are handled"};
  std::vector<Case> derived{with_axis(base, 0, "/rank-raised-in-front"),
                            with_axis(base, base.spatial_rank(), "/rank-raised-behind")};
  return Derivation([derived = std::move(derived)](const Tensor& y) {
    return Application{derived, links_to_all(derived.size(), y.elements()), nullptr};
  });
}

Values reversed_behind(const Values& values, std::size_t first) {
  Values result = values;
  std::reverse(result.begin() + static_cast<std::ptrdiff_t>(first), result.end());
  return result;
}

Grid with_reversed_axes(const Grid& grid) {
  return rearranged(grid, reversed_behind(grid.shape, 2),
                    [](const Values& index) { return reversed_behind(index, 2); });
}

Applied swap_axes(const Subject& subject) {
  Convolution derived = *convolution_of(subject);
  const std::size_t rank = derived.spatial_rank();
  if (rank < 2) return NotApplicable{"one spatial axis"};
  if (derived.has_auto_pad()) return kAutoPad;
  derived.x = with_reversed_axes(derived.x);
  derived.w = with_reversed_axes(derived.w);
  std::reverse(derived.strides.begin(), derived.strides.end());
  std::reverse(derived.dilations.begin(), derived.dilations.end());
  const auto middle = derived.pads.begin() + static_cast<std::ptrdiff_t>(rank);
  std::reverse(derived.pads.begin(), middle);
  std::reverse(middle, derived.pads.end());
  derived.restated = true;
  const Values shape = derived.geometry.output_shape();
  return Derivation([swapped = derived.build("/axes-swapped"), shape](const Tensor&) {
    const Values derived_shape = reversed_behind(shape, 2);
    return Application{
        {swapped},
        links_for(shape, derived_shape,
                  [](const Values& index) { return std::pair(std::size_t{0}, reversed_behind(index, 2)); }),
        nullptr};
  });
}

Grid mirrored(const Grid& grid, const Values& shape) {
  return rearranged(grid, shape, [&](Values index) {
    for (std::size_t i = 2; i < index.size(); ++i) index[i] = shape[i] - 1 - index[i];
    return index;
  });
}

// The last window leaves `unreached` elements behind it. Read backwards, they must not be there: they
// are taken from the padding first, then from x.
Applied mirror(const Subject& subject) {
  Convolution derived = *convolution_of(subject);
  if (derived.has_auto_pad()) return kAutoPad;
  const std::size_t rank = derived.spatial_rank();
  Values x_shape = derived.x.shape;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const reference::SpatialAxis& a = derived.geometry.axes[axis];
    const std::int64_t unreached = (a.input + a.pad_begin + a.pad_end - a.kernel_extent()) % a.stride;
    derived.pads[axis] = std::max<std::int64_t>(0, a.pad_end - unreached);
    derived.pads[rank + axis] = a.pad_begin;
    x_shape[2 + axis] -= std::max<std::int64_t>(0, unreached - a.pad_end);
    if (x_shape[2 + axis] < 1) return NotApplicable{"no window reaches x"};
  }
  derived.x = mirrored(derived.x, x_shape);
  derived.w = mirrored(derived.w, derived.w.shape);
  derived.restated = true;
  const Values shape = derived.geometry.output_shape();
  return Derivation([reflected = derived.build("/mirrored"), shape](const Tensor&) {
    return Application{{reflected},
                       links_for(shape, shape,
                                 [&](Values index) {
                                   for (std::size_t i = 2; i < index.size(); ++i) index[i] = shape[i] - 1 - index[i];
                                   return std::pair(std::size_t{0}, index);
                                 }),
                       nullptr};
  });
}

constexpr FamilyRelation kAxisRelations[] = {
    {{Topic::axes, "rank-raised",
      "A further spatial axis of size 1, in front or behind, changes nothing: 1-D as 2-D, 2-D as 3-D.",
      "The sums are the same ones."},
     "QLinearConv, ConvInteger",
     raise_rank},
    {{Topic::axes, "axes-swapped",
      "x, w and the attributes with their spatial axes in reverse order give y with its axes in reverse order.",
      "The sums are the same ones, in another order: exact in integers."},
     "QLinearConv, ConvInteger",
     swap_axes},
    {{Topic::axes, "mirrored", "x and w mirrored in every spatial axis, pads exchanged, give y mirrored.",
      "The sums are the same ones, in another order: exact in integers."},
     "QLinearConv, ConvInteger",
     mirror},
};

}  // namespace

std::span<const FamilyRelation> axis_relations() {
  return kAxisRelations;
}

}  // namespace qconform::relations
