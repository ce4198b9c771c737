// Which part of a tensor an element map shows. Internal to the element maps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/element_map.h"
#include "harness/core/tensor.h"
#include "harness/operators/operator.h"

namespace qconform {

/// All of a tensor.
[[nodiscard]] Box whole(const std::vector<std::int64_t>& shape);

/// At most `most` elements around the one at `center`: as much of its plane, the last two dimensions, as
/// there is room for, then neighbours along the dimensions before, from the innermost.
[[nodiscard]] Box box_around(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& center,
                             std::int64_t most);

/// The flat indices of a box's elements, in its order.
[[nodiscard]] std::vector<std::int64_t> indices_in(const std::vector<std::int64_t>& shape, const Box& box);

/// The box's elements, as text.
[[nodiscard]] TensorBox cut(std::string name, const Tensor& tensor, const Box& box);

}  // namespace qconform
