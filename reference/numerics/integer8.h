// The two 8-bit types that x, w and y of the quantized operators take, independently of each other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qconform::reference {

enum class Integer8 : std::uint8_t { uint8, int8 };

/// Smallest and largest value of an integer type, both included.
struct IntegerRange {
  std::int32_t lo;
  std::int32_t hi;
};

[[nodiscard]] constexpr IntegerRange range_of(Integer8 type) {
  return type == Integer8::uint8 ? IntegerRange{0, 255} : IntegerRange{-128, 127};
}

/// The value that one stored byte has in `type`.
[[nodiscard]] constexpr std::int32_t load8(Integer8 type, std::byte byte) {
  const auto raw = std::to_integer<std::int32_t>(byte);
  return type == Integer8::int8 && raw >= 128 ? raw - 256 : raw;
}

/// The byte that stores `value`, which must lie in range_of(type); the low eight bits are kept.
[[nodiscard]] constexpr std::byte store8(std::int32_t value) {
  return static_cast<std::byte>(static_cast<std::uint32_t>(value) & 0xFFU);
}

}  // namespace qconform::reference
