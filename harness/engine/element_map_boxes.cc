#include "harness/engine/element_map_boxes.h"

#include <algorithm>
#include <utility>

#include "harness/operators/element_text.h"

namespace qconform {
namespace {

// `extent` elements of [0, size) with `center` in the middle, as far as the borders let it be.
std::int64_t begin_around(std::int64_t center, std::int64_t extent, std::int64_t size) {
  return std::clamp<std::int64_t>(center - extent / 2, 0, size - extent);
}

// Rows and columns of a plane of which `most` elements fit: a square, or longer where one side is short.
std::pair<std::int64_t, std::int64_t> plane_extent(std::int64_t rows, std::int64_t columns, std::int64_t most) {
  std::int64_t side = 1;
  while ((side + 1) * (side + 1) <= most) ++side;
  const std::int64_t fewest_columns = std::min(columns, side);
  const std::int64_t shown_rows = std::min(rows, most / fewest_columns);
  return {shown_rows, std::min(columns, most / shown_rows)};
}

}  // namespace

Box whole(const std::vector<std::int64_t>& shape) {
  return {std::vector<std::int64_t>(shape.size(), 0), shape};
}

Box box_around(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& center, std::int64_t most) {
  const std::size_t rank = shape.size();
  Box box{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 1)};
  if (elements_of(shape) == 0) return whole(shape);
  std::size_t outer = rank;
  if (rank >= 2) {
    outer = rank - 2;
    std::tie(box.extent[outer], box.extent[outer + 1]) = plane_extent(shape[outer], shape[outer + 1], most);
  }
  for (std::size_t d = outer; d-- > 0;) box.extent[d] = std::min(shape[d], most / box.elements());
  for (std::size_t d = 0; d < rank; ++d) box.begin[d] = begin_around(center[d], box.extent[d], shape[d]);
  return box;
}

std::vector<std::int64_t> indices_in(const std::vector<std::int64_t>& shape, const Box& box) {
  std::vector<std::int64_t> indices{0};
  if (box.elements() == 0) return {};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::int64_t> next;
    next.reserve(indices.size() * static_cast<std::size_t>(box.extent[d]));
    for (const std::int64_t index : indices) {
      for (std::int64_t i = 0; i < box.extent[d]; ++i) next.push_back(index * shape[d] + box.begin[d] + i);
    }
    indices = std::move(next);
  }
  return indices;
}

TensorBox cut(std::string name, const Tensor& tensor, const Box& box) {
  TensorBox result{.name = std::move(name),
                   .type = name_of(tensor.type),
                   .shape = tensor.shape,
                   .begin = box.begin,
                   .extent = box.extent,
                   .values = {}};
  const std::vector<std::int64_t> indices = indices_in(tensor.shape, box);
  result.values.reserve(indices.size());
  for (const std::int64_t index : indices) result.values.push_back(element_text(tensor, index));
  return result;
}

}  // namespace qconform
