#include "reference/convolution/tile_output.h"

#include <algorithm>
#include <cstring>

#include "reference/convolution/leaves.h"
#include "reference/convolution/transpose.h"

namespace qconform::reference {
namespace {

constexpr int kBlock = 16;

// Channels become rows of y.
void store_block(const std::uint8_t* tile, std::int64_t tile_stride, int positions, int channels, std::byte* y,
                 std::int64_t y_stride) {
  ByteVector block[kBlock];
  for (int p = 0; p < kBlock; ++p) block[p] = load_bytes(tile + p * tile_stride);
  transpose_16x16(block);
  for (int m = 0; m < channels; ++m) {
    if (positions == kBlock) {
      store_bytes(y + m * y_stride, block[m]);
    } else {
      std::memcpy(y + m * y_stride, &block[m], static_cast<std::size_t>(positions));
    }
  }
}

}  // namespace

void store_tile(const SumsTile& at, const std::uint8_t* tile, std::int64_t tile_stride, const OutputPlacement& y_place,
                std::byte* y) {
  y += y_place.index(at.image, at.first_channel, at.first_position);
  if (y_place.layout == ImageLayout::channels_last) {
    for (int p = 0; p < at.positions; ++p) {
      std::memcpy(y + p * y_place.position_stride(), tile + p * tile_stride, static_cast<std::size_t>(at.channels));
    }
    return;
  }
  for (int m = 0; m < at.channels; m += kBlock) {
    for (int p = 0; p < at.positions; p += kBlock) {
      store_block(tile + p * tile_stride + m, tile_stride, std::min(kBlock, at.positions - p),
                  std::min(kBlock, at.channels - m), y + m * y_place.channel_stride() + p, y_place.channel_stride());
    }
  }
}

void store_sums(const SumsTile& tile, const OutputPlacement& y_place, std::byte* y) {
  constexpr std::size_t kSize = sizeof(std::int32_t);
  y += static_cast<std::size_t>(y_place.index(tile.image, tile.first_channel, tile.first_position)) * kSize;
  const std::int32_t* const sums = tile.sums;
  if (y_place.layout == ImageLayout::channels_last) {
    for (int p = 0; p < tile.positions; ++p) {
      std::memcpy(y + static_cast<std::size_t>(p * y_place.position_stride()) * kSize, sums + p * tile.stride,
                  static_cast<std::size_t>(tile.channels) * kSize);
    }
    return;
  }
  for (int m = 0; m < tile.channels; ++m) {
    std::int32_t row[kTilePositions];
    for (int p = 0; p < tile.positions; ++p) row[p] = sums[p * tile.stride + m];
    std::memcpy(y + static_cast<std::size_t>(m * y_place.channel_stride()) * kSize, row,
                static_cast<std::size_t>(tile.positions) * kSize);
  }
}

}  // namespace qconform::reference
