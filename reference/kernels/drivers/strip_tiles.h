// A loaded strip, seen as the packed rows of its output positions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/convolution/convolution.h"
#include "reference/kernels/drivers/drivers.h"
#include "reference/kernels/drivers/lowering.h"
#include "reference/kernels/drivers/parallel.h"
#include "reference/kernels/drivers/tile_writer.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

class RowStrip {
 public:
  /// The arguments must outlive this.
  RowStrip(const ConvolutionOperands& operands, const Lowering& lowering, const ConvolutionMicroKernels& micro_kernels,
           ImageLayout layout)
      : operands_(operands), lowering_(lowering), micro_kernels_(micro_kernels), layout_(layout) {}

  /// Packs the input under the windows of `range` from one image, or finds that it can be used where it
  /// is. Reads nothing outside x, in which the image begins at `image`.
  void load(std::span<const std::byte> x, std::int64_t image, const StripRange& range);

  /// The first pixel of a stored row.
  [[nodiscard]] const std::byte* row(std::int64_t row) const { return first_ + row * row_bytes_; }
  [[nodiscard]] std::int64_t pixel_bytes() const { return pixel_bytes_; }
  /// Bytes from a pixel to the one below it.
  [[nodiscard]] std::int64_t row_bytes() const { return row_bytes_; }

 private:
  // Says which of `stored` rows or columns lie in the input: those in [begin, end), the first at input row or column
  // `from`.
  struct Inside {
    std::int64_t stored;
    std::int64_t begin;
    std::int64_t end;
    std::int64_t from;
    std::int64_t step;  // in the input, from one stored to the next
  };

  [[nodiscard]] static bool has_padding(const Inside& rows, const Inside& columns);
  [[nodiscard]] bool can_stay(const Inside& rows, const Inside& columns) const;
  [[nodiscard]] bool has_whole_rows(const Inside& columns) const;
  [[nodiscard]] bool is_one_piece(const Inside& rows, const Inside& columns) const;
  void widen(const std::byte* from, std::int64_t count, std::uint8_t flip, std::byte* to) const;
  void widen_piece(const std::byte* from, std::int64_t count, std::byte* to);
  void widen_rows(const std::byte* from, const Inside& rows, const Inside& columns);
  void reserve(std::int64_t elements);
  [[nodiscard]] static Inside inside(const SpatialAxis& axis, std::int64_t first_output, std::int64_t stored);
  void fill_padding(const Inside& rows, const Inside& columns, std::byte* to) const;
  void copy_channels_last(std::span<const std::byte> x, std::int64_t image, const Inside& rows, const Inside& columns,
                          std::byte* to) const;
  void copy_channels_first(std::span<const std::byte> x, std::int64_t image, const Inside& rows, const Inside& columns,
                           std::byte* to) const;
  [[nodiscard]] bool is_contiguous(const Inside& rows, const Inside& columns) const;
  void copy_rows(const ChannelBlock& image, const Inside& rows, const Inside& columns) const;
  void copy_row(std::span<const std::byte> x, const ChannelBlock& image, std::int64_t row, const Inside& rows,
                const Inside& columns) const;
  static void transpose_block(const ChannelBlock& block, std::span<const std::byte> x, std::int64_t step);

  const ConvolutionOperands& operands_;
  const Lowering& lowering_;
  const ConvolutionMicroKernels& micro_kernels_;
  ImageLayout layout_;
  // The pixels of the range loaded last.
  const std::byte* first_ = nullptr;
  std::int64_t pixel_bytes_ = 0;
  std::int64_t row_bytes_ = 0;
  AlignedMemory memory_;  // grows with the largest range
  AlignedMemory line_;    // one row of bytes before they are widened
};

class StripTiles {
 public:
  /// The arguments must outlive this.
  StripTiles(const ConvolutionOperands& operands, const Lowering& lowering,
             const ConvolutionMicroKernels& micro_kernels, ImageLayout layout)
      : operands_(operands),
        lowering_(lowering),
        micro_kernels_(micro_kernels),
        layout_(layout),
        strip_(operands, lowering, micro_kernels, layout) {}

  /// Packs the strip of image number `image`.
  void load(std::span<const std::byte> x, std::int64_t image, const StripRange& range);

  /// Returns the address at which the window of each position begins, in the order of y.
  [[nodiscard]] std::span<const std::byte* const> rows() const { return rows_; }
  [[nodiscard]] std::int64_t positions() const { return static_cast<std::int64_t>(rows_.size()); }
  /// Positions of the tile that begins at position `first` of the strip.
  [[nodiscard]] int tile_size(std::int64_t first) const {
    const std::int64_t rest = positions() - first;
    if (rest <= kTilePositions) return static_cast<int>(rest);
    return layout_ == ImageLayout::channels_first && rest >= 2 * kTilePositions ? kTilePositions : kFullTile;
  }
  /// Says what `sums`, [positions][stride], of that tile and a panel are in y.
  [[nodiscard]] SumsTile sums_tile(std::int64_t first, const WeightPanel& panel, const std::int32_t* sums,
                                   std::int64_t stride) const {
    return {.sums = sums,
            .stride = stride,
            .positions = tile_size(first),
            .channels = panel.channels,
            .first_channel = panel.first_channel,
            .first_lane = panel.first_lane,
            .first_position = first_position_ + first,
            .image = image_};
  }
  /// Bytes from the begin of a window to each of its runs, for the channels of one group.
  void locate_runs(std::int64_t group, std::vector<std::int64_t>& offsets) const;

 private:
  // Whole blocks of every row count that micro-kernels prefer, and of 16. With channels first y is written in lines of
  // as many positions as there are, for which a whole cache line counts more.
  static constexpr int kFullTile = 48;

  // Says at which addresses the windows begin. Strips of the same size mostly have the same grid.
  struct Grid {
    const std::byte* first = nullptr;
    std::int64_t row_bytes = 0;
    std::int64_t column_bytes = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;

    [[nodiscard]] bool operator==(const Grid&) const = default;
  };

  const ConvolutionOperands& operands_;
  const Lowering& lowering_;
  const ConvolutionMicroKernels& micro_kernels_;
  ImageLayout layout_;
  RowStrip strip_;
  std::int64_t image_ = 0;
  std::int64_t first_position_ = 0;
  Grid grid_;
  std::vector<const std::byte*> rows_;
};

/// Holds the work of one convolution: the strips of each image, and the parts in which each strip is computed.
struct StripWork {
  std::vector<StripRange> strips;
  std::int64_t parts = 1;  ///< more than one where strips and images are fewer than threads
};

/// `divisible` is the most parts that a strip can have.
[[nodiscard]] StripWork divide_work(const Lowering& lowering, const ConvolutionMicroKernels& micro_kernels,
                                    std::int64_t images, int threads, std::int64_t divisible);

/// make()->run(x, image, strip, part, parts, writer) for all of the work, each thread on what it made.
template <typename Make>
void for_each_strip(const StripWork& work, std::int64_t images, int threads, Make make, std::span<const std::byte> x,
                    const TileWriter& writer) {
  const auto strips = static_cast<std::int64_t>(work.strips.size());
  parallel(images * strips * work.parts, threads, make, [&](auto& run, std::int64_t item) {
    const std::int64_t strip = item / work.parts;
    run->run(x, strip / strips, work.strips[static_cast<std::size_t>(strip % strips)], item % work.parts, work.parts,
             writer);
  });
}

/// `Weights` are packed weights with panels(), all of them or those of a group; `Run` computes one strip
/// at a time by one thread and is made of (setup, lowering, weights).
template <typename Run, typename Weights>
class StripPath final : public ConvolutionPath {
 public:
  /// `parts`: into how many parts the panels of a strip can be divided. `name`: as PreparedNode::implementation().
  StripPath(const ConvolutionSetup& setup, const Lowering& lowering, std::unique_ptr<Weights> weights,
            std::size_t parts, std::string name)
      : setup_(setup),
        lowering_(lowering),
        weights_(std::move(weights)),
        parts_(static_cast<std::int64_t>(parts)),
        name_(std::move(name)) {}

  void run(std::span<const std::byte> x, const TileWriter& writer, int threads) const override {
    const std::int64_t images = setup_.operands.geometry.batch;
    const StripWork work = divide_work(lowering_, setup_.micro_kernels, images, threads, parts_);
    for_each_strip(
        work, images, threads, [this] { return runs_.borrow([this] { return make_run(); }); }, x, writer);
  }

  [[nodiscard]] std::span<const WeightPanel> panels() const override { return weights_->panels(); }
  [[nodiscard]] std::string_view implementation() const override { return name_; }

 private:
  [[nodiscard]] std::unique_ptr<Run> make_run() const { return std::make_unique<Run>(setup_, lowering_, *weights_); }

  const ConvolutionSetup setup_;
  Lowering lowering_;
  std::unique_ptr<Weights> weights_;
  std::int64_t parts_;
  std::string name_;
  mutable Pool<Run> runs_;
};

}  // namespace qconform::reference
