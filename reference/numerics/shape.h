// Shapes of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace qconform {

/// Product of the dimensions; 1 for a scalar. The shape is within the limits.
[[nodiscard]] constexpr std::int64_t elements_of(std::span<const std::int64_t> shape) {
  std::int64_t result = 1;
  for (const std::int64_t dimension : shape) result *= dimension;
  return result;
}

/// "[1, 3, 5, 5]"
[[nodiscard]] inline std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace qconform
