// Brings a tile [positions][channels] into y.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/convolution/tile_writer.h"

namespace qconform::reference {

/// Bytes from `tile` [positions][tile_stride] to y. The tile may be read up to the next multiple of
/// 16 positions, and of 16 channels.
void store_tile(const SumsTile& at, const std::uint8_t* tile, std::int64_t tile_stride, const OutputPlacement& y_place,
                std::byte* y);

/// Sums as they are, 4 bytes each.
void store_sums(const SumsTile& tile, const OutputPlacement& y_place, std::byte* y);

}  // namespace qconform::reference
