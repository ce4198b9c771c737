#include <algorithm>
#include <memory>
#include <vector>

#include "reference/kernels/drivers/drivers.h"
#include "reference/kernels/drivers/packed_weights.h"
#include "reference/kernels/drivers/parallel.h"

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
  [[nodiscard]] std::string_view implementation() const override { return "pointwise"; }

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
    rest = make_dense_path(setup, behind, w, DenseForm::plain);
  }
  return std::make_unique<PointwisePath>(setup, std::move(weights), std::move(rest));
}

namespace {

constexpr std::int64_t kTaps = 4;  // the taps of one group

// The least share of the lanes of a line that a plane must fill: below it, transposing x and y costs less.
constexpr double kLeastShareOfLanes = 0.4;

SpatialAxis rows_of(const ConvolutionGeometry& g) {
  return g.axes.size() == 2
             ? g.axes[0]
             : SpatialAxis{
                   .input = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 1};
}

// Sums of one product; a thread has its own.
struct PlaneSums {
  alignas(64) std::int32_t sums[kTilePositions * kTilePositions];
};

class PlanePath final : public ConvolutionPath {
 public:
  PlanePath(const ConvolutionSetup& setup, std::unique_ptr<LineWeights> weights)
      : setup_(setup),
        rows_(rows_of(setup.operands.geometry)),
        columns_(setup.operands.geometry.axes.back()),
        weights_(std::move(weights)) {}

  void run(std::span<const std::byte> x, const TileWriter& writer, int threads) const override {
    const ConvolutionGeometry& g = setup_.operands.geometry;
    parallel(
        g.batch * g.output_channels, threads, [] { return std::unique_ptr<PlaneSums>(new PlaneSums); },
        [&](auto& sums, std::int64_t item) { run_plane(x, item, sums->sums, writer); });
  }

  [[nodiscard]] std::span<const WeightPanel> panels() const override { return weights_->panels(); }
  [[nodiscard]] std::string_view implementation() const override { return "plane"; }

 private:
  // The last columns first: lines reach beyond their ends into what is still to be written.
  void run_plane(std::span<const std::byte> x, std::int64_t plane, std::int32_t* sums, const TileWriter& writer) const {
    const ConvolutionGeometry& g = setup_.operands.geometry;
    const std::int64_t channel = plane % g.output_channels;
    const std::int64_t x_plane = plane / g.output_channels * g.input_channels + channel / g.group_output_channels();
    PlaneProduct product{.x = x.data() + x_plane * g.input_positions(),
                         .rows = rows_.input,
                         .columns = columns_.input,
                         .first_row = 0,
                         .first_column = 0,
                         .row_stride = rows_.stride,
                         .row_dilation = rows_.dilation,
                         .column_stride = static_cast<int>(columns_.stride),
                         .kernel_rows = static_cast<int>(rows_.kernel),
                         .groups = static_cast<int>((columns_.kernel + kTaps - 1) / kTaps),
                         .padding = static_cast<std::uint8_t>(setup_.operands.x_zero_point),
                         .flip = x_flip(setup_.operands, setup_.micro_kernels),
                         .w = weights_->row(channel),
                         .start = weights_->start()[channel],
                         .lines = 0,
                         .sums = sums};
    for (std::int64_t column = (columns_.output - 1) / kTilePositions * kTilePositions; column >= 0;
         column -= kTilePositions) {
      for (std::int64_t row = 0; row < rows_.output; row += kTilePositions) {
        run_lines(product, plane, row, column, writer);
      }
    }
  }

  // Computes at most kTilePositions rows and columns of plane number `plane` of y, from `row` and `column` on.
  void run_lines(PlaneProduct& product, std::int64_t plane, std::int64_t row, std::int64_t column,
                 const TileWriter& writer) const {
    product.first_row = row * rows_.stride - rows_.pad_begin;
    product.first_column = column * columns_.stride - columns_.pad_begin;
    product.lines = static_cast<int>(std::min<std::int64_t>(kTilePositions, rows_.output - row));
    const std::int64_t size = rows_.output * columns_.output;
    writer.write_lines(*setup_.micro_kernels.lines, product,
                       {.sums = product.sums,
                        .lines = product.lines,
                        .positions = static_cast<int>(std::min<std::int64_t>(kTilePositions, columns_.output - column)),
                        .first_channel = plane % setup_.operands.geometry.output_channels,
                        .channel_step = 0,
                        .y_begin = plane * size + row * columns_.output + column,
                        .y_stride = columns_.output,
                        .y_end = (plane + 1) * size});
  }

  const ConvolutionSetup& setup_;
  SpatialAxis rows_;
  SpatialAxis columns_;
  std::unique_ptr<LineWeights> weights_;
};

bool takes_planes(const ConvolutionSetup& setup) {
  const ConvolutionGeometry& g = setup.operands.geometry;
  if (!takes_lines(setup) || g.group == 1 || g.group_input_channels() != 1) return false;
  if (g.axes.empty() || g.axes.size() > 2 || g.depth() == 0 || g.output_positions() == 0) return false;
  const SpatialAxis& columns = g.axes.back();
  const std::int64_t lanes = (columns.output + kTilePositions - 1) / kTilePositions * kTilePositions;
  const bool fills_lanes = static_cast<double>(columns.output) >= kLeastShareOfLanes * static_cast<double>(lanes);
  return fills_lanes && columns.stride <= 2 && (columns.dilation == 1 || columns.kernel == 1) &&
         columns.kernel <= kTaps * kPlaneGroups && rows_of(g).kernel <= kTilePositions;
}

}  // namespace

std::unique_ptr<ConvolutionPath> make_plane_path(const ConvolutionSetup& setup, std::span<const std::byte> w) {
  if (!takes_planes(setup)) return nullptr;
  const std::int64_t run = setup.operands.geometry.axes.back().kernel;
  auto weights = std::make_unique<LineWeights>(setup.operands, w, setup.micro_kernels, run);
  if (!weights->fit()) return nullptr;
  return std::make_unique<PlanePath>(setup, std::move(weights));
}

}  // namespace qconform::reference
