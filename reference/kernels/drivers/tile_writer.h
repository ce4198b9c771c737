// The convolution driver hands finished sums to a TileWriter.
#pragma once

#include <cstdint>
#include <span>

#include "reference/kernels/drivers/lowering.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

/// Sums of consecutive output positions of one image, for the channels of one panel.
struct SumsTile {
  const std::int32_t* sums;  ///< [positions][stride], modulo 2^32, bias included
  std::int64_t stride;
  int positions;                ///< in [1, kTilePositions]
  int channels;                 ///< in [1, kPanelChannels]; sums has whole vectors of them
  std::int64_t first_channel;   ///< index among the channels of the output
  std::int64_t first_lane;      ///< see WeightPanel
  std::int64_t first_position;  ///< index among the positions of the image
  std::int64_t image;
};

/// Lines of y: kTilePositions consecutive elements each, of which the first `positions` belong to it.
struct LinesTile {
  std::int32_t* sums;  ///< [lines][kTilePositions], for products to leave sums in
  int lines;           ///< in [1, kTilePositions]
  int positions;       ///< in [1, kTilePositions]
  std::int64_t first_channel;
  int channel_step;       ///< from line to line: 1 or 0; lanes (see WeightPanel) are channels
  std::int64_t y_begin;   ///< element of y where the first line begins
  std::int64_t y_stride;  ///< elements from line to line
  /// Element of y before which a line may reach beyond its positions, if lines come in their order.
  std::int64_t y_end;
};

class TileWriter {
 public:
  TileWriter() = default;
  TileWriter(const TileWriter&) = delete;
  TileWriter& operator=(const TileWriter&) = delete;
  virtual ~TileWriter() = default;

  /// Writes finished sums. All functions are called from several threads at once, for different elements of y.
  virtual void write(const SumsTile& tile) const = 0;

  /// Computes the tile's sums, each by one of `products`, and writes them. They need not pass through tile.sums.
  virtual void write_products(const ConvolutionMicroKernels& micro_kernels, std::span<const PanelProduct> products,
                              const SumsTile& tile) const {
    for (const PanelProduct& product : products) micro_kernels.multiply(&product);
    write(tile);
  }
  virtual void write_products(const DepthwiseBlock& block, const DepthwiseProduct& product,
                              const SumsTile& tile) const {
    block.multiply(&product);
    write(tile);
  }

  /// Computes the sums of lines by `product` and writes them. Only for micro-kernels and outputs that have lines
  /// (takes_lines() in path.h).
  virtual void write_lines(const LineMicroKernels& micro_kernels, const PanelProduct& product,
                           const LinesTile& tile) const = 0;
  virtual void write_lines(const LineMicroKernels& micro_kernels, const PlaneProduct& product,
                           const LinesTile& tile) const = 0;
};

/// Elements of y: where an image's channel and position lie.
struct OutputPlacement {
  std::int64_t channels;
  std::int64_t positions;
  ImageLayout layout;

  [[nodiscard]] std::int64_t channel_stride() const { return layout == ImageLayout::channels_first ? positions : 1; }
  [[nodiscard]] std::int64_t position_stride() const { return layout == ImageLayout::channels_first ? 1 : channels; }
  [[nodiscard]] std::int64_t index(std::int64_t image, std::int64_t channel, std::int64_t position) const {
    return image * channels * positions + channel * channel_stride() + position * position_stride();
  }
};

/// Bytes from `tile` [kTilePositions][kPanelChannels] to y. All of the tile may be read.
void store_tile(const SumsTile& at, const std::uint8_t* tile, const OutputPlacement& placement,
                const ConvolutionMicroKernels& micro_kernels, std::byte* y);

/// Sums as they are, 4 bytes each.
void store_sums(const SumsTile& tile, const OutputPlacement& placement, std::byte* y);
void store_lines(const LinesTile& tile, std::byte* y);

}  // namespace qconform::reference
