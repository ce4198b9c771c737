// Which elements of an output are not admissible.
#pragma once

#include <cstdint>

#include "harness/core/tensor.h"

namespace qconform {

struct Comparison {
  std::uint64_t wrong = 0;
  std::int64_t worst = -1;    ///< flat index of the wrong element farthest from the right ones
  double worst_distance = 0;  ///< infinite where values cannot be compared (NaN against a number)
};

/// Compares two tensors of the same type and shape, element by element; an element of `got` is right
/// when it has the bits of `right` or, where given, of `alternative`. NaNs are all alike (rule D6).
[[nodiscard]] Comparison compare(const Tensor& got, const Tensor& right, const Tensor* alternative);

/// Element `index` for the reader: an integer, or a float in the shortest decimal that reads back.
[[nodiscard]] std::string element_text(const Tensor& tensor, std::int64_t index);

}  // namespace qconform
