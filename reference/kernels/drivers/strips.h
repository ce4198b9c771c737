// Cuts the tensors of QuantizeLinear and DequantizeLinear into pieces for vector routines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reference/linear_quantization/layout.h"

namespace qconform::reference {

/// A vector routine takes whole multiples of kStrip elements, all of one channel.
inline constexpr std::int64_t kStrip = 8;

/// Calls leaf(x, count, channel, y) so that every element of the layout is computed once. Pieces
/// that are not whole strips go through buffers: no byte outside x and y is touched, and every
/// element takes the vector path.
template <typename Leaf>
void for_each_strip(const QuantizationLayout& layout, const std::byte* x, std::size_t x_size, std::byte* y,
                    std::size_t y_size, Leaf leaf) {
  if (layout.inner == 0) return;
  const std::int64_t whole = layout.inner / kStrip * kStrip;
  const auto rest = static_cast<std::size_t>(layout.inner - whole);
  for (std::int64_t row = 0; row < layout.outer * layout.channels; ++row) {
    const auto channel = static_cast<std::size_t>(row % layout.channels);
    if (whole > 0) leaf(x, whole, channel, y);
    x += static_cast<std::size_t>(whole) * x_size;
    y += static_cast<std::size_t>(whole) * y_size;
    if (rest > 0) {
      std::byte x_strip[kStrip * sizeof(float)] = {};
      std::byte y_strip[kStrip * sizeof(float)];
      std::memcpy(x_strip, x, rest * x_size);
      leaf(x_strip, kStrip, channel, y_strip);
      std::memcpy(y, y_strip, rest * y_size);
      x += rest * x_size;
      y += rest * y_size;
    }
  }
}

}  // namespace qconform::reference
