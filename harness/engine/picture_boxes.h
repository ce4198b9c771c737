// Which part of a tensor a picture shows. Internal to the pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/picture.h"
#include "harness/core/tensor.h"
#include "reference/convolution/geometry.h"

namespace qconform {

/// `extent[d]` elements from `begin[d]` on, in each dimension.
struct Box {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> extent;

  [[nodiscard]] std::int64_t elements() const { return elements_of(extent); }
};

/// All of a tensor.
[[nodiscard]] Box whole(const std::vector<std::int64_t>& shape);

/// At most `most` elements around the one at `center`: as much of its plane, the last two dimensions, as
/// there is room for, then neighbours along the dimensions before, from the innermost.
[[nodiscard]] Box box_around(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& center,
                             std::int64_t most);

/// What an output box is computed from: the part of x under its windows (without what is padding), and
/// of w the filters of its channels.
[[nodiscard]] Box windows_of(const reference::ConvolutionGeometry& geometry, const Box& output);
[[nodiscard]] Box filters_of(const reference::ConvolutionGeometry& geometry, const Box& output);

/// The flat indices of a box's elements, in its order.
[[nodiscard]] std::vector<std::int64_t> indices_in(const std::vector<std::int64_t>& shape, const Box& box);

/// The box's elements, as text.
[[nodiscard]] TensorBox cut(std::string name, const Tensor& tensor, const Box& box);

}  // namespace qconform
