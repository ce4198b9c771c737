// Tiles of a convolution: the driver gathers tiles of its input and hands finished sums to a TileWriter, which puts
// them into y as they are or requantized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "reference/convolution/convolution.h"
#include "reference/convolution/geometry.h"
#include "reference/kernels/drivers/lowering.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

// Transposition of small blocks, in vectors that every processor of an architecture has.

/// Sixteen bytes in a register.
using ByteVector = std::uint8_t __attribute__((vector_size(16)));

[[nodiscard]] inline ByteVector load_bytes(const void* from) {
  ByteVector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

inline void store_bytes(void* to, ByteVector v) {
  std::memcpy(to, &v, sizeof v);
}

[[nodiscard]] inline ByteVector interleave_low(ByteVector a, ByteVector b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

[[nodiscard]] inline ByteVector interleave_high(ByteVector a, ByteVector b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Pixels and channels that are transposed at a time.
inline constexpr int kTransposed = 16;

/// rows[i][j] becomes rows[j][i]: four perfect shuffles of the 256 bytes.
inline void transpose_16x16(ByteVector* rows) {
  ByteVector other[kTransposed];
#pragma GCC unroll 2
  for (int pass = 0; pass < 2; ++pass) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      other[2 * i] = interleave_low(rows[i], rows[i + 8]);
      other[2 * i + 1] = interleave_high(rows[i], rows[i + 8]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      rows[2 * i] = interleave_low(other[i], other[i + 8]);
      rows[2 * i + 1] = interleave_high(other[i], other[i + 8]);
    }
  }
}

// Finished sums on their way to y.

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
  /// (takes_lines() in drivers.h).
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

// QLinearConv's output: sums requantized by the vector routines of one instruction set. Elements that
// need exact arithmetic get it from the reference.

/// The parameters of a node's output channels.
class PreparedRequantization {
 public:
  /// `micro_kernels` must outlive this. w tells how large sums can be.
  PreparedRequantization(const QLinearConv& node, RoundingProfile profile, std::span<const std::byte> w,
                         const ElementwiseMicroKernels& micro_kernels);

  /// Lets lane `lane` have the parameters of `channel`. Lanes without a channel get any.
  void assign_lane(std::int64_t lane, std::int64_t channel);

  [[nodiscard]] RoundingProfile profile() const { return profile_; }

  /// Bytes [positions][y_stride] of a tile, whole vectors of channels (`lanes` each).
  void tile(const SumsTile& tile, int lanes, std::uint8_t* y, std::int64_t y_stride) const;

  /// The parameters of lanes from `first_lane` on.
  [[nodiscard]] RequantizeChannels channels(std::int64_t first_lane) const;

  /// Computes exactly the elements whose bits are set; needs_exact and y are by position of the tile.
  void replace_by_exact(const SumsTile& tile, const std::uint64_t* needs_exact, std::uint8_t* y,
                        std::int64_t y_stride) const;

  /// Computes exactly the elements of lines whose bits are set; needs_exact and y are by line, and the first line is at
  /// y.
  void replace_by_exact(const LinesTile& tile, const std::uint64_t* needs_exact, std::uint8_t* y) const;

  /// Bytes of `count` sums of one channel. Both may be accessed up to the next multiple of 16.
  void row(std::int64_t channel, const std::int32_t* sums, int count, std::uint8_t* y) const;

 private:
  void tile_by_rows(const SumsTile& tile, std::uint8_t* y, std::int64_t y_stride) const;
  [[nodiscard]] std::uint8_t exactly(std::int64_t channel, std::int32_t sum) const;

  RoundingProfile profile_;
  RequantizeRow row_;
  RequantizeTile tile_;
  std::vector<Requantization> exact_;     // by channel
  std::vector<FastRequantization> fast_;  // by channel
  bool fixed_point_ = true;               // see requantize_fast.h
  std::vector<float> multiplier_;         // by lane, as the rest
  std::vector<float> fixed_multiplier_;
  std::vector<float> needs_exact_from_;
  std::vector<double> exact_multiplier_;
  std::vector<double> wide_needs_exact_from_;
};

class RequantizingWriter final : public TileWriter {
 public:
  /// The arguments must outlive this. `micro_kernels` is what the sums come from.
  RequantizingWriter(const PreparedRequantization& requantization, const ConvolutionMicroKernels& micro_kernels,
                     const OutputPlacement& placement, std::byte* y)
      : requantization_(requantization), micro_kernels_(micro_kernels), placement_(placement), y_(y) {}

  void write(const SumsTile& tile) const override;
  void write_products(const ConvolutionMicroKernels& micro_kernels, std::span<const PanelProduct> products,
                      const SumsTile& tile) const override;
  void write_products(const DepthwiseBlock& block, const DepthwiseProduct& product,
                      const SumsTile& tile) const override;
  void write_lines(const LineMicroKernels& micro_kernels, const PanelProduct& product,
                   const LinesTile& tile) const override;
  void write_lines(const LineMicroKernels& micro_kernels, const PlaneProduct& product,
                   const LinesTile& tile) const override;

 private:
  // multiply(output) computes all bytes of the tile and says whether any needs exact arithmetic.
  template <typename Multiply>
  void write_requantized(const SumsTile& tile, Multiply multiply) const;
  template <typename Multiply>
  void write_requantized(const LinesTile& tile, Multiply multiply) const;

  const PreparedRequantization& requantization_;
  const ConvolutionMicroKernels& micro_kernels_;
  OutputPlacement placement_;
  std::byte* y_;
};

}  // namespace qconform::reference
