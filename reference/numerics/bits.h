// Elements of 2 to 64 bits within a tensor's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace qconform::reference {

/// Bytes that `elements` elements of `bits` bits take.
[[nodiscard]] constexpr std::int64_t bytes_for(std::int64_t elements, int bits) {
  return bits >= 8 ? elements * (bits / 8) : (elements * bits + 7) / 8;
}

/// Element `index`, little endian; `bits` is a power of two. Elements below 8 bits are packed as ONNX
/// packs them, the first one in the low bits of the first byte.
[[nodiscard]] inline std::uint64_t load_bits(std::span<const std::byte> bytes, int bits, std::int64_t index) {
  if (bits == 8) return std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(index)]);  // nearly all are
  if (bits > 8) {
    const auto size = static_cast<std::size_t>(bits / 8);
    std::uint64_t raw = 0;
    std::memcpy(&raw, bytes.data() + static_cast<std::size_t>(index) * size, size);
    return raw;
  }
  const std::int64_t per_byte = 8 / bits;
  const auto byte = std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(index / per_byte)]);
  return byte >> (index % per_byte * bits) & ((std::uint64_t{1} << bits) - 1);
}

/// Stores the low `bits` bits of `raw` as element `index`. The first element of a byte also clears
/// the rest of it, so that elements stored in ascending order leave unused bits zero.
inline void store_bits(std::span<std::byte> bytes, int bits, std::int64_t index, std::uint64_t raw) {
  if (bits >= 8) {
    const auto size = static_cast<std::size_t>(bits / 8);
    std::memcpy(bytes.data() + static_cast<std::size_t>(index) * size, &raw, size);
    return;
  }
  const std::int64_t per_byte = 8 / bits;
  const auto shift = static_cast<int>(index % per_byte) * bits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::byte& byte = bytes[static_cast<std::size_t>(index / per_byte)];
  const auto present = shift == 0 ? 0U : std::to_integer<unsigned>(byte);
  byte = static_cast<std::byte>(present | static_cast<unsigned>((raw & mask) << shift));
}

}  // namespace qconform::reference
