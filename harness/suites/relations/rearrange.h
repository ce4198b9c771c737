// Building blocks of the derived cases: tensors made from tensors, and links between outputs.
#pragma once

#include <utility>

#include "harness/suites/relations/relation.h"

namespace qconform::relations {

[[nodiscard]] inline std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// The position of `index` in a row-major tensor.
[[nodiscard]] inline std::int64_t flat_index(const Values& shape, const Values& index) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + index[i];
  return flat;
}

/// Calls visit(index) for every index of a shape, in row-major order.
template <typename Visit>
void for_each_index(const Values& shape, Visit visit) {
  const std::int64_t count = elements_of(shape);
  Values index(shape.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    visit(std::as_const(index));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// A tensor of the given shape whose elements are value_of(index).
template <typename ValueOf>
[[nodiscard]] Grid grid_from(ElementType type, Values shape, ValueOf value_of) {
  Grid grid{type, std::move(shape), {}};
  grid.values.reserve(at(elements_of(grid.shape)));
  for_each_index(grid.shape, [&](const Values& index) { grid.values.push_back(value_of(index)); });
  return grid;
}

/// The elements of `source` at source_of(index), in a tensor of another shape.
template <typename SourceOf>
[[nodiscard]] Grid rearranged(const Grid& source, Values shape, SourceOf source_of) {
  return grid_from(source.type, std::move(shape),
                   [&](const Values& index) { return source.values[at(flat_index(source.shape, source_of(index)))]; });
}

/// A link for every element of the base's output, in order: link_of(index) gives the derived case and
/// the index into its output, whose shape is shape_of(derived case).
template <typename PlaceOf>
[[nodiscard]] std::vector<Link> links_for(const Values& base_shape, const Values& derived_shape, PlaceOf place_of) {
  std::vector<Link> links;
  for_each_index(base_shape, [&](const Values& index) {
    const std::pair<std::size_t, Values> place = place_of(index);
    links.push_back({static_cast<std::int64_t>(links.size()), place.first, flat_index(derived_shape, place.second)});
  });
  return links;
}

/// Element by element, for several derived cases whose outputs all look like the base's.
[[nodiscard]] std::vector<Link> links_to_all(std::size_t derived_cases, std::int64_t elements);

/// One derived case whose output equals the base's.
[[nodiscard]] inline Applied same_output(Case derived) {
  return Derivation([derived = std::move(derived)](const Tensor&) { return Application{{derived}, {}, nullptr}; });
}

/// Outputs are integers, and the derived one is the base's plus `offset`.
[[nodiscard]] std::shared_ptr<const Agreement> offset_by(std::int64_t offset);

/// A parameter of a selection of output channels, in a given order.
template <typename T>
[[nodiscard]] PerChannel<T> selected(const PerChannel<T>& parameter, const Values& channels) {
  if (parameter.is_scalar) return parameter;
  PerChannel<T> result{{}, false};
  for (const std::int64_t channel : channels) result.values.push_back(parameter.of(channel));
  return result;
}

/// Gives the convolution the output channels `channels` of its own, in that order: weights and all
/// parameters that belong to channels.
void select_output_channels(Convolution& convolution, const Values& channels);

/// Gives it the input channels `channels` of x, in that order; w is left alone.
void select_input_channels(Convolution& convolution, const Values& channels);

/// Gives it the images `images` of x, in that order.
void select_images(Convolution& convolution, const Values& images);

/// first, first + 1, ..., first + count - 1
[[nodiscard]] Values counting(std::int64_t first, std::int64_t count);

/// count - 1, ..., 0
[[nodiscard]] Values counting_down(std::int64_t count);

}  // namespace qconform::relations
