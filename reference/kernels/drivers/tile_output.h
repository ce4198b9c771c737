// Brings a tile [positions][channels] into y.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/kernels/drivers/tile_writer.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

/// Bytes from `tile` [kTilePositions][kPanelChannels] to y. All of the tile may be read.
void store_tile(const SumsTile& at, const std::uint8_t* tile, const OutputPlacement& y_place,
                const ConvolutionLeaves& leaves, std::byte* y);

/// Sums as they are, 4 bytes each.
void store_sums(const SumsTile& tile, const OutputPlacement& y_place, std::byte* y);
void store_lines(const LinesTile& tile, std::byte* y);

}  // namespace qconform::reference
