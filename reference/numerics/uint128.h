// 128-bit unsigned arithmetic for exact requantization.
#pragma once

#include <bit>
#include <cstdint>

namespace qconform::reference {

__extension__ typedef unsigned __int128 uint128;  // NOLINT(modernize-use-using): no alias takes __extension__

/// Number of bits of `value`: 0 for 0, otherwise 1 + floor(log2(value)).
[[nodiscard]] constexpr int bit_length(uint128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  const auto low = static_cast<std::uint64_t>(value);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low));
}

}  // namespace qconform::reference
