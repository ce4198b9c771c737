// Stored elements as numbers. Every element type is a subset of float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "reference/numerics/bits.h"
#include "reference/numerics/element.h"
#include "reference/numerics/small_float.h"

namespace qconform::reference {

/// The value of a pattern, exactly; NaN and infinities as they are.
[[nodiscard]] inline double value_of(ElementType type, std::uint64_t bits) {
  if (!is_integer(type)) return decode(float_format(type), bits);
  const int width = bits_of(type);
  const auto raw = static_cast<std::int64_t>(bits);
  const bool negative = is_signed_integer(type) && (bits >> (width - 1) & 1U) != 0;
  return static_cast<double>(negative ? raw - (std::int64_t{1} << width) : raw);
}

[[nodiscard]] inline double value_at(ElementType type, std::span<const std::byte> bytes, std::int64_t index) {
  return value_of(type, load_bits(bytes, bits_of(type), index));
}

}  // namespace qconform::reference
