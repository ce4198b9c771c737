// The leaf routines of DequantizeLinear: all that one instruction set contributes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qconform::reference {

/// The types of x that leaves take.
enum class DequantizeInput : std::uint8_t { uint8, int8, int32 };

/// One parameter. Plain data.
struct DequantizeChannel {
  float scale;
  std::int32_t zero_point;
};

/// Dequantizes `count` elements of one channel, a multiple of kStrip, into float32. x and y may
/// have any alignment.
using DequantizeStrip = void (*)(const std::byte* x, std::int64_t count, const DequantizeChannel* channel,
                                 std::byte* y);

/// From so many bytes of y on, vectors are stored past the caches: what is written would not stay in them, and
/// ordinary stores read the lines first.
inline constexpr std::int64_t kStreamedBytes = std::int64_t{1} << 24;

/// Indexed by DequantizeInput.
struct DequantizeLeaves {
  DequantizeStrip strip[3];
};

}  // namespace qconform::reference
