#include <algorithm>
#include <memory>
#include <vector>

#include "reference/kernels/drivers/packed_weights.h"
#include "reference/kernels/drivers/parallel.h"
#include "reference/kernels/drivers/path.h"

namespace qconform::reference {
namespace {

// The bytes of x that are interleaved at a time: half a first-level cache.
constexpr std::int64_t kTilesBytes = std::int64_t{1} << 14;
constexpr std::int64_t kMostTiles = 8;

// Tiles of one image, and the panels of weights that meet them.
struct PointwiseWork {
  std::int64_t image;
  std::int64_t tile;
  std::int64_t tiles;
  std::span<const WeightPanel> panels;
};

// One piece of work at a time, by one thread.
class PointwiseRun {
 public:
  PointwiseRun(const ConvolutionSetup& setup, const LineWeights& weights, std::int64_t tiles)
      : setup_(setup),
        weights_(weights),
        tile_bytes_(weights.row_bytes() * kTilePositions),
        pixels_(static_cast<std::size_t>(tiles * tile_bytes_)) {}

  void run(std::span<const std::byte> x, const PointwiseWork& work, const TileWriter& writer) {
    const ConvolutionGeometry& g = setup_.operands.geometry;
    const std::int64_t positions = g.output_positions();
    const std::int64_t first = work.tile * kTilePositions;
    const PixelPanel panel{.from = x.data() + work.image * g.input_channels * positions + first,
                           .from_stride = positions,
                           .channels = g.input_channels,
                           .to = pixels_.data(),
                           .to_stride = tile_bytes_,
                           .tiles = work.tiles,
                           .flip = x_flip(setup_.operands, setup_.micro_kernels)};
    setup_.micro_kernels.lines->interleave(&panel);
    for (const WeightPanel& weights : work.panels) {
      for (int i = 0; i < weights.channels; ++i) rows_[i] = weights_.row(weights.first_channel + i);
      const std::int64_t channel = work.image * g.output_channels + weights.first_channel;
      for (std::int64_t tile = 0; tile < work.tiles; ++tile) {
        multiply(weights, tile, channel * positions + first + tile * kTilePositions, writer);
      }
    }
  }

 private:
  // Lines that begin at element `y`.
  void multiply(const WeightPanel& weights, std::int64_t tile, std::int64_t y, const TileWriter& writer) {
    static constexpr std::int64_t kNoOffset = 0;
    const PanelProduct product{.rows = rows_,
                               .run_offsets = &kNoOffset,
                               .runs = 1,
                               .run_bytes = weights_.row_bytes(),
                               .w = pixels_.data() + tile * tile_bytes_,
                               .start = weights_.start() + weights.first_channel,
                               .start_stride = 1,
                               .sums = sums_,
                               .sums_stride = kTilePositions,
                               .positions = weights.channels,
                               .vectors = kTilePositions / setup_.micro_kernels.lanes};
    const std::int64_t positions = setup_.operands.geometry.output_positions();
    writer.write_lines(*setup_.micro_kernels.lines, product,
                       {.sums = sums_,
                        .lines = weights.channels,
                        .positions = kTilePositions,
                        .first_channel = weights.first_channel,
                        .channel_step = 1,
                        .y_begin = y,
                        .y_stride = positions,
                        .y_end = y + (weights.channels - 1) * positions + kTilePositions});
  }

  const ConvolutionSetup& setup_;
  const LineWeights& weights_;
  std::int64_t tile_bytes_;
  AlignedMemory pixels_;
  const std::byte* rows_[kTilePositions];
  alignas(64) std::int32_t sums_[kTilePositions * kTilePositions];
};

class PointwisePath final : public ConvolutionPath {
 public:
  // `rest` computes the positions behind the last whole tile; null where there are none.
  PointwisePath(const ConvolutionSetup& setup, std::unique_ptr<LineWeights> weights,
                std::unique_ptr<ConvolutionPath> rest)
      : setup_(setup),
        weights_(std::move(weights)),
        rest_(std::move(rest)),
        tiles_(setup.operands.geometry.output_positions() / kTilePositions),
        tiles_at_once_(
            std::clamp<std::int64_t>(kTilesBytes / (weights_->row_bytes() * kTilePositions), 1, kMostTiles)) {}

  void run(std::span<const std::byte> x, const TileWriter& writer, int threads) const override {
    const std::span<const WeightPanel> panels = weights_->panels();
    const auto count = static_cast<std::int64_t>(panels.size());
    const std::int64_t pieces = (tiles_ + tiles_at_once_ - 1) / tiles_at_once_;
    const std::int64_t whole = setup_.operands.geometry.batch * pieces;
    const std::int64_t parts = std::clamp<std::int64_t>((threads + whole - 1) / whole, 1, count);
    parallel(
        whole * parts, threads, [this] { return runs_.borrow([this] { return make_run(); }); },
        [&](auto& run, std::int64_t item) {
          const std::int64_t piece = item / parts % pieces;
          const std::int64_t begin = count * (item % parts) / parts;
          const std::int64_t end = count * (item % parts + 1) / parts;
          const std::int64_t tile = piece * tiles_at_once_;
          run->run(x,
                   {.image = item / parts / pieces,
                    .tile = tile,
                    .tiles = std::min(tiles_at_once_, tiles_ - tile),
                    .panels = panels.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))},
                   writer);
        });
    if (rest_ != nullptr) rest_->run(x, writer, threads);
  }

  [[nodiscard]] std::span<const WeightPanel> panels() const override { return weights_->panels(); }

 private:
  [[nodiscard]] std::unique_ptr<PointwiseRun> make_run() const {
    return std::make_unique<PointwiseRun>(setup_, *weights_, tiles_at_once_);
  }

  const ConvolutionSetup& setup_;
  std::unique_ptr<LineWeights> weights_;
  std::unique_ptr<ConvolutionPath> rest_;
  std::int64_t tiles_;
  std::int64_t tiles_at_once_;
  mutable Pool<PointwiseRun> runs_;
};

// One tap that meets every input position once, in order: lower() has made a single row of them.
bool is_pointwise(const Lowering& l) {
  return l.rows.input == 1 && l.rows.output == 1 && l.rows.kernel == 1 && l.columns.kernel == 1 &&
         l.columns.stride == 1 && l.columns.pad_begin == 0 && l.columns.input == l.columns.output;
}

}  // namespace

std::unique_ptr<ConvolutionPath> make_pointwise_path(const ConvolutionSetup& setup, const Lowering& lowering,
                                                     std::span<const std::byte> w) {
  const std::int64_t positions = lowering.columns.output;
  const bool is_dense = setup.operands.geometry.group == 1;
  if (!takes_lines(setup) || !is_dense || !is_pointwise(lowering) || positions < kTilePositions) return nullptr;
  if (setup.operands.geometry.depth() > setup.micro_kernels.max_line_depth) return nullptr;
  auto weights = std::make_unique<LineWeights>(setup.operands, w, setup.micro_kernels, setup.operands.geometry.depth());
  if (!weights->fit()) return nullptr;
  std::unique_ptr<ConvolutionPath> rest;
  if (positions % kTilePositions != 0) {
    Lowering behind = lowering;
    behind.first_column = positions / kTilePositions * kTilePositions;
    rest = make_dense_path(setup, behind, w);
  }
  return std::make_unique<PointwisePath>(setup, std::move(weights), std::move(rest));
}

}  // namespace qconform::reference
