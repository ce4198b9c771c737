// Saturation and two's-complement wrap.
#pragma once

#include <algorithm>
#include <cstdint>

#include "reference/numerics/integer8.h"

namespace qconform::reference {

/// clamp(value, lo, hi)
[[nodiscard]] constexpr std::int32_t saturate(std::int64_t value, IntegerRange range) {
  return static_cast<std::int32_t>(
      std::clamp(value, static_cast<std::int64_t>(range.lo), static_cast<std::int64_t>(range.hi)));
}

/// The value modulo 2^32, in [-2^31, 2^31): what a 32-bit accumulator holds (rule C17).
[[nodiscard]] constexpr std::int32_t wrap_to_int32(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value & 0xFFFFFFFF));
}

}  // namespace qconform::reference
