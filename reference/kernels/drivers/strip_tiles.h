// A loaded band, seen as the packed rows of its output positions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/kernels/drivers/parallel.h"
#include "reference/kernels/drivers/row_strip.h"
#include "reference/kernels/drivers/tile_writer.h"

namespace qconform::reference {

class BandTiles {
 public:
  /// The arguments must outlive this.
  BandTiles(const ConvolutionOperands& operands, const Lowering& lowering, const ConvolutionLeaves& leaves,
            ImageLayout layout)
      : operands_(operands),
        lowering_(lowering),
        leaves_(leaves),
        layout_(layout),
        band_(operands, lowering, leaves, layout) {}

  /// Packs the band of image number `image`.
  void load(std::span<const std::byte> x, std::int64_t image, const BandRange& range);

  /// Where the window of each position begins, in the order of y.
  [[nodiscard]] std::span<const std::byte* const> rows() const { return rows_; }
  [[nodiscard]] std::int64_t positions() const { return static_cast<std::int64_t>(rows_.size()); }
  [[nodiscard]] std::int64_t image() const { return image_; }
  /// Of the band, within the image.
  [[nodiscard]] std::int64_t first_position() const { return first_position_; }
  /// Positions of the tile that begins at position `first` of the band.
  [[nodiscard]] int tile_size(std::int64_t first) const {
    const std::int64_t rest = positions() - first;
    if (rest <= kTilePositions) return static_cast<int>(rest);
    return layout_ == ImageLayout::channels_first && rest >= 2 * kTilePositions ? kTilePositions : kFullTile;
  }
  /// Bytes from the begin of a window to each of its runs, for the channels of one group.
  void locate_runs(std::int64_t group, std::vector<std::int64_t>& offsets) const;

 private:
  // Whole blocks of every row count that leaves prefer, and of 16. With channels first y is written in lines of
  // as many positions as there are, for which a whole cache line counts more.
  static constexpr int kFullTile = 48;

  // Where the windows begin. Bands of the same size mostly have the same.
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
  const ConvolutionLeaves& leaves_;
  ImageLayout layout_;
  Band band_;
  std::int64_t image_ = 0;
  std::int64_t first_position_ = 0;
  Grid grid_;
  std::vector<const std::byte*> rows_;
};

/// What one convolution runs over: bands of all images, and the parts in which each band is computed.
struct BandWork {
  std::vector<BandRange> bands;
  std::int64_t parts = 1;  ///< more than one where bands and images are fewer than threads
};

/// `divisible` is the most parts that a band can have.
[[nodiscard]] BandWork divide_work(const Lowering& lowering, const ConvolutionLeaves& leaves, std::int64_t images,
                                   int threads, std::int64_t divisible);

/// make()->run(x, image, band, part, parts, writer) for all of the work, each thread on what it made.
template <typename Make>
void for_each_band(const BandWork& work, std::int64_t images, int threads, Make make, std::span<const std::byte> x,
                   const TileWriter& writer) {
  const auto bands = static_cast<std::int64_t>(work.bands.size());
  parallel(images * bands * work.parts, threads, make, [&](auto& run, std::int64_t item) {
    const std::int64_t band = item / work.parts;
    run->run(x, band / bands, work.bands[static_cast<std::size_t>(band % bands)], item % work.parts, work.parts,
             writer);
  });
}

}  // namespace qconform::reference
