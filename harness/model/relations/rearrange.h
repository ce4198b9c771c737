// Building blocks of the derived cases: tensors made from tensors, and links between outputs.
#pragma once

#include <utility>

#include "harness/model/relations/relation.h"

namespace qconform::relations {

using Values = std::vector<std::int64_t>;

/// An integer tensor as plain numbers, row-major.
struct Grid {
  ElementType type = ElementType::undefined;
  Values shape;
  Values values;

  [[nodiscard]] Tensor tensor() const;
};

[[nodiscard]] Grid grid_of(const Tensor& tensor);
[[nodiscard]] Values integer_values(const Tensor& tensor);

/// Smallest and largest value of an integer type of at most 16 bits.
struct Range {
  std::int64_t lo;
  std::int64_t hi;
};
[[nodiscard]] Range range_of(ElementType type);

/// The 8-bit type of the other signedness, and what its numbers have to be moved by.
[[nodiscard]] ElementType other_sign(ElementType type);
[[nodiscard]] std::int64_t shift_to_other_sign(ElementType type);
/// The numbers in it, moved by that.
void shift(Grid& grid);

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

/// Integer outputs: the derived one is the base's plus `offset`.
[[nodiscard]] Applied shifted_output(Case derived, std::int64_t offset);

/// y of the integers of `range` with its zero point moved by `step`, which is 1 or -1: what was not saturated moves
/// with it; what was may move less.
[[nodiscard]] Applied moved_output(Case derived, Range range, std::int64_t step);

/// first, first + 1, ..., first + count - 1
[[nodiscard]] Values counting(std::int64_t first, std::int64_t count);

/// count - 1, ..., 0
[[nodiscard]] Values counting_down(std::int64_t count);

}  // namespace qconform::relations
