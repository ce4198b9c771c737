#include "reference/kernels/drivers/tile_writer.h"

#include <algorithm>
#include <cstring>

#include "reference/kernels/drivers/transpose.h"

namespace qconform::reference {
namespace {

// Channels become rows of y.
void to_channels_first(const ChannelBlock& b) {
  for (int p = 0; p < b.pixels; p += kTransposed) {
    ByteVector block[kTransposed];
    for (int i = 0; i < kTransposed; ++i) block[i] = load_bytes(b.from + (p + i) * b.from_stride);
    transpose_16x16(block);
    for (int m = 0; m < b.channels; ++m) {
      if (b.pixels - p >= kTransposed) {
        store_bytes(b.to + m * b.to_stride + p, block[m]);
      } else {
        std::memcpy(b.to + m * b.to_stride + p, &block[m], static_cast<std::size_t>(b.pixels - p));
      }
    }
  }
}

}  // namespace

void store_tile(const SumsTile& at, const std::uint8_t* tile, const OutputPlacement& placement,
                const ConvolutionMicroKernels& micro_kernels, std::byte* y) {
  y += placement.index(at.image, at.first_channel, at.first_position);
  if (placement.layout == ImageLayout::channels_last) {
    for (int p = 0; p < at.positions; ++p) {
      std::memcpy(y + p * placement.position_stride(), tile + p * kPanelChannels,
                  static_cast<std::size_t>(at.channels));
    }
    return;
  }
  for (int m = 0; m < at.channels; m += kTransposed) {
    const ChannelBlock block{.from = reinterpret_cast<const std::byte*>(tile) + m,
                             .from_stride = kPanelChannels,
                             .to = y + m * placement.channel_stride(),
                             .to_stride = placement.channel_stride(),
                             .channels = std::min(kTransposed, at.channels - m),
                             .pixels = at.positions,
                             .stored_channels = kTransposed,
                             .flip = 0};
    micro_kernels.to_channels_first != nullptr ? micro_kernels.to_channels_first(&block) : to_channels_first(block);
  }
}

void store_sums(const SumsTile& tile, const OutputPlacement& placement, std::byte* y) {
  constexpr std::size_t kSize = sizeof(std::int32_t);
  y += static_cast<std::size_t>(placement.index(tile.image, tile.first_channel, tile.first_position)) * kSize;
  const std::int32_t* const sums = tile.sums;
  if (placement.layout == ImageLayout::channels_last) {
    for (int p = 0; p < tile.positions; ++p) {
      std::memcpy(y + static_cast<std::size_t>(p * placement.position_stride()) * kSize, sums + p * tile.stride,
                  static_cast<std::size_t>(tile.channels) * kSize);
    }
    return;
  }
  for (int m = 0; m < tile.channels; ++m) {
    std::int32_t row[kTilePositions];
    for (int p = 0; p < tile.positions; ++p) row[p] = sums[p * tile.stride + m];
    std::memcpy(y + static_cast<std::size_t>(m * placement.channel_stride()) * kSize, row,
                static_cast<std::size_t>(tile.positions) * kSize);
  }
}

void store_lines(const LinesTile& tile, std::byte* y) {
  constexpr std::size_t kSize = sizeof(std::int32_t);
  for (int line = 0; line < tile.lines; ++line) {
    std::memcpy(y + static_cast<std::size_t>(tile.y_begin + line * tile.y_stride) * kSize,
                tile.sums + line * kTilePositions, static_cast<std::size_t>(tile.positions) * kSize);
  }
}

}  // namespace qconform::reference
