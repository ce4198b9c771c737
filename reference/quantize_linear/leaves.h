// The leaf routines of QuantizeLinear: all that one instruction set contributes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qconform::reference {

/// The types of x that leaves take.
enum class QuantizeInput : std::uint8_t { float32, int32 };

/// One channel's parameters. Plain data.
struct QuantizeChannel {
  float scale;
  std::int32_t zero_point;
  float lo;  ///< smallest and largest value of y, less the zero point
  float hi;
};

/// Quantizes `count` elements of one channel, a multiple of kStrip, as quantize() does. x and y may
/// have any alignment.
using QuantizeStrip = void (*)(const std::byte* x, std::int64_t count, const QuantizeChannel* channel, std::byte* y);

/// Indexed by QuantizeInput.
struct QuantizeLeaves {
  QuantizeStrip strip[2];
};

}  // namespace qconform::reference
