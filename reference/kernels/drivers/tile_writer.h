// The convolution driver gathers tiles of its input and hands finished sums to a TileWriter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/convolution/geometry.h"
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

// Gathers the input bytes under a block of output positions: a bounded piece of im2col.

/// Row k of a tile has one byte for each position of the block: the input under tap k / channels of
/// the group's channel k % channels. Taps are the slow index so that all channels of a tap share
/// the work of locating it. What lies in the padding gets the padding byte (rule C1).
class TileGather {
 public:
  /// `geometry` must outlive this.
  TileGather(const ConvolutionGeometry& geometry, std::uint8_t padding);

  /// Chooses the block: output positions [first, first + count), count <= kTilePositions.
  void select(std::int64_t first, int count);

  /// Writes rows [depth_begin, depth_end), kTilePositions bytes each, from the group of channels
  /// whose first byte in the image is at x. Reads no byte outside the group's channels.
  void gather(const std::byte* x, std::int64_t depth_begin, std::int64_t depth_end, std::uint8_t* rows);

 private:
  // Consecutive positions of the block that lie in one row of the output.
  struct Segment {
    int first;
    int count;
    std::int64_t last_index;  // index of the first position along the last axis
  };
  // Consecutive positions of the block whose inputs are evenly spaced, and inside the input.
  struct Run {
    int first;
    int count;
    std::int64_t offset;  // the offset of the first input byte within its channel
  };

  void locate_window(std::int64_t first_tap);
  void locate_tap(std::int64_t tap);
  void locate_segment(std::size_t segment, std::size_t first_run);
  void fill_row(const std::byte* channel, const Run* begin, const Run* end, std::uint8_t* row) const;

  const ConvolutionGeometry& geometry_;
  std::uint8_t padding_;
  std::int64_t channels_;
  std::int64_t channel_size_;
  std::int64_t taps_;

  std::vector<Segment> segments_;
  std::vector<std::int64_t> outer_;  // [segment][axis]: output indices along all axes but the last

  // Runs of the taps [window_begin_, window_begin_ + run_ends_.size()), kept until the block changes.
  std::int64_t window_begin_ = 0;
  std::vector<std::size_t> run_ends_;
  std::vector<Run> runs_;
  std::vector<std::int64_t> shifts_;  // the shifts of the tap being located, along each axis
};

}  // namespace qconform::reference
