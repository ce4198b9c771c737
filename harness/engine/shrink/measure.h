// How large a case is: what shrinking makes smaller with every step, so that it ends.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "harness/core/case.h"

namespace qconform::shrink {

/// Compared from the first number to the last: what matters most to a reader comes first.
struct Measure {
  std::uint64_t nodes = 0;         ///< nodes of the graph
  std::uint64_t elements = 0;      ///< elements of inputs with their padding and of the output, where that is known
  std::uint64_t structure = 0;     ///< inputs, dimensions, attributes and what they say
  std::uint64_t zero_points = 0;   ///< that are not 0
  std::uint64_t scales = 0;        ///< complexity of the scales
  std::uint64_t contributing = 0;  ///< values, weights and biases that contribute to a sum
  std::uint64_t magnitude = 0;     ///< distance of all values from those that contribute nothing
  auto operator<=>(const Measure&) const = default;
};

[[nodiscard]] Measure measure(const Case& test_case, const std::optional<std::int64_t>& output_elements);

}  // namespace qconform::shrink
