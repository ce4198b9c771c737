#include <algorithm>
#include <memory>

#include "reference/kernels/drivers/packed_weights.h"
#include "reference/kernels/drivers/parallel.h"
#include "reference/kernels/drivers/path.h"

namespace qconform::reference {
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
