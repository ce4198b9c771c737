#include "harness/operators/convolution/relation_parts.h"

#include <algorithm>
#include <utility>

#include "harness/model/operator.h"
#include "harness/operators/convolution/convolution.h"

namespace qconform::relations {

Convolution ConvolutionParts::resized(const reference::ConvolutionGeometry& to) const {
  Convolution result = stated;
  result.auto_pad.reset();
  set_sizes(result, to);
  if (!stated.kernel_shape) result.kernel_shape.reset();
  return result;
}

Case ConvolutionParts::derive(Convolution derived, std::string_view suffix) const {
  Case built = build_convolution(std::move(derived));
  Case result = frame;
  result.id += suffix;
  result.node() = std::move(built.node());
  result.inputs = std::move(built.inputs);
  return result;
}

const ConvolutionParts* convolution_of(const RelationSubject& subject) {
  return dynamic_cast<const ConvolutionParts*>(subject.parts.get());
}

std::unique_ptr<const Parts> take_convolution_apart(const Case& test_case, const Lowered& lowered) {
  auto parts = std::make_unique<ConvolutionParts>();
  parts->frame = test_case;
  parts->frame.inputs.clear();
  forget_answers(parts->frame);
  parts->stated = read_convolution(test_case).value();
  parts->sizes = operands_of(lowered)->geometry;
  return parts;
}

namespace {

template <typename T>
std::vector<T> selected(const std::vector<T>& values, const Values& channels) {
  if (values.size() == 1) return values;
  std::vector<T> result;
  for (const std::int64_t channel : channels) result.push_back(values[at(channel)]);
  return result;
}

template <typename T>
ParameterValues<T> selected(const ParameterValues<T>& parameter, const Values& channels) {
  if (parameter.values.size() == 1) return parameter;
  return ParameterValues(selected(parameter.values, channels));
}

// The tensor with what it has at `positions` of `axis`, in that order.
Tensor with_selected(const Tensor& tensor, std::size_t axis, const Values& positions) {
  Values shape = tensor.shape;
  shape[axis] = static_cast<std::int64_t>(positions.size());
  return rearranged(tensor, std::move(shape), [&](Values index) {
    index[axis] = positions[at(index[axis])];
    return index;
  });
}

}  // namespace

void select_output_channels(Convolution& convolution, const Values& channels) {
  convolution.w = with_selected(convolution.w, 0, channels);
  if (convolution.w_zero_point) convolution.w_zero_point = selected(*convolution.w_zero_point, channels);
  convolution.w_scale = selected(convolution.w_scale, channels);
  if (convolution.bias) convolution.bias = selected(*convolution.bias, channels);
}

void select_input_channels(Convolution& convolution, const Values& channels) {
  convolution.x = with_selected(convolution.x, 1, channels);
}

void select_images(Convolution& convolution, const Values& images) {
  convolution.x = with_selected(convolution.x, 0, images);
}

bool has_pads(const reference::ConvolutionGeometry& sizes) {
  return std::any_of(sizes.axes.begin(), sizes.axes.end(),
                     [](const reference::SpatialAxis& a) { return a.pad_begin != 0 || a.pad_end != 0; });
}

namespace {

constexpr NotApplicable kNoAxes{"no spatial axes"};
constexpr NotApplicable kAutoPad{"auto_pad places the padding"};

// A further spatial axis of size 1 before axis `before`.
Case with_axis(const ConvolutionParts& base, std::size_t before, const char* suffix) {
  reference::ConvolutionGeometry sizes = base.sizes;
  sizes.axes.insert(sizes.axes.begin() + static_cast<std::ptrdiff_t>(before), {1, 1, 1, 1, 0, 0, 1});
  return base.derive(base.resized(sizes), suffix);
}

Applied raise_rank(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  if (base.has_auto_pad()) return kAutoPad;
  if (base.stated.x.shape.size() >= 8) return NotApplicable{"x has as many axes as are handled"};
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

Tensor with_reversed_axes(const Tensor& tensor) {
  return rearranged(tensor, reversed_behind(tensor.shape, 2),
                    [](const Values& index) { return reversed_behind(index, 2); });
}

Applied swap_axes(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  if (base.spatial_rank() < 2) return NotApplicable{"one spatial axis"};
  if (base.has_auto_pad()) return kAutoPad;
  reference::ConvolutionGeometry sizes = base.sizes;
  std::reverse(sizes.axes.begin(), sizes.axes.end());
  Convolution derived = base.resized(sizes);
  derived.x = with_reversed_axes(base.stated.x);
  derived.w = with_reversed_axes(base.stated.w);
  const Values shape = base.sizes.output_shape();
  return Derivation([swapped = base.derive(std::move(derived), "/axes-swapped"), shape](const Tensor&) {
    const Values derived_shape = reversed_behind(shape, 2);
    return Application{
        {swapped},
        links_for(shape, derived_shape,
                  [](const Values& index) { return std::pair(std::size_t{0}, reversed_behind(index, 2)); }),
        nullptr};
  });
}

Tensor mirrored(const Tensor& tensor, const Values& shape) {
  return rearranged(tensor, shape, [&](Values index) {
    for (std::size_t i = 2; i < index.size(); ++i) index[i] = shape[i] - 1 - index[i];
    return index;
  });
}

// The last window leaves `unreached` elements behind it. Read backwards, they must not be there: they
// are taken from the padding first, then from x.
Applied mirror(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  if (base.has_auto_pad()) return kAutoPad;
  reference::ConvolutionGeometry sizes = base.sizes;
  for (reference::SpatialAxis& a : sizes.axes) {
    const std::int64_t unreached = (a.input + a.pad_begin + a.pad_end - a.kernel_extent()) % a.stride;
    const std::int64_t pad_end = std::exchange(a.pad_end, a.pad_begin);
    a.pad_begin = std::max<std::int64_t>(0, pad_end - unreached);
    a.input -= std::max<std::int64_t>(0, unreached - pad_end);
    if (a.input < 1) return NotApplicable{"no window reaches x"};
  }
  Convolution derived = base.resized(sizes);
  derived.x = mirrored(base.stated.x, derived.x.shape);
  derived.w = mirrored(base.stated.w, derived.w.shape);
  const Values shape = base.sizes.output_shape();
  return Derivation([reflected = base.derive(std::move(derived), "/mirrored"), shape](const Tensor&) {
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
    {{RelationTopic::axes, "rank-raised",
      "A further spatial axis of size 1, in front or behind, changes nothing: 1-D as 2-D, 2-D as 3-D.",
      "The sums are the same ones."},
     "QLinearConv, ConvInteger",
     raise_rank},
    {{RelationTopic::axes, "axes-swapped",
      "x, w and the attributes with their spatial axes in reverse order give y with its axes in reverse order.",
      "The sums are the same ones, in another order: exact in integers."},
     "QLinearConv, ConvInteger",
     swap_axes},
    {{RelationTopic::axes, "mirrored", "x and w mirrored in every spatial axis, pads exchanged, give y mirrored.",
      "The sums are the same ones, in another order: exact in integers."},
     "QLinearConv, ConvInteger",
     mirror},
};

}  // namespace

std::span<const FamilyRelation> axis_relations() {
  return kAxisRelations;
}

}  // namespace qconform::relations
