// Fills and compares memory up to the edge of a guard page.
//
// The C library fills and compares short ranges with one masked vector access, whose masked-out bytes may lie
// behind the edge. Nothing faults, but processors take hundreds of cycles to find that out, even where the range is
// empty. These functions touch no address outside the range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace qconform {

/// From this size on the C library's functions need no masks.
inline constexpr std::size_t kWholeVectors = 64;

/// Sets `size` bytes from `to` on to `value`.
inline void fill_to_edge(std::byte* to, std::byte value, std::size_t size) {
  if (size >= kWholeVectors) {
    std::memset(to, std::to_integer<int>(value), size);
    return;
  }
  const std::uint64_t word = std::to_integer<std::uint64_t>(value) * 0x0101010101010101U;
  for (; size >= sizeof word; size -= sizeof word, to += sizeof word) std::memcpy(to, &word, sizeof word);
  if ((size & 4) != 0) {
    std::memcpy(to, &word, 4);
    to += 4;
  }
  if ((size & 2) != 0) {
    std::memcpy(to, &word, 2);
    to += 2;
  }
  if ((size & 1) != 0) *to = value;
}

/// Whether two stretches of `size` bytes are the same.
[[nodiscard]] inline bool equal_to_edge(const std::byte* one, const std::byte* other, std::size_t size) {
  if (size >= kWholeVectors) return std::memcmp(one, other, size) == 0;
  std::uint64_t difference = 0;
  for (; size >= sizeof difference; size -= sizeof difference) {
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    std::memcpy(&left, one, sizeof left);
    std::memcpy(&right, other, sizeof right);
    difference |= left ^ right;
    one += sizeof left;
    other += sizeof right;
  }
  for (std::size_t i = 0; i < size; ++i) difference |= std::to_integer<std::uint64_t>(one[i] ^ other[i]);
  return difference == 0;
}

}  // namespace qconform
