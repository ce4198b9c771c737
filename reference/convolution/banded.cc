#include <memory>
#include <vector>

#include "reference/convolution/band_path.h"
#include "reference/convolution/band_tiles.h"

namespace qconform::reference {
namespace {

// One band at a time, by one thread.
class BandRun {
 public:
  BandRun(const ConvolutionSetup& setup, const Lowering& lowering, const PackedWeights& weights)
      : leaves_(setup.leaves),
        weights_(weights),
        groups_(setup.operands.geometry.group),
        tiles_(setup.operands, lowering, setup.leaves, setup.layout) {}

  // Part `part` of `parts` of the panels.
  void run(std::span<const std::byte> x, std::int64_t image, const BandRange& range, std::int64_t part,
           std::int64_t parts, const TileWriter& writer) {
    tiles_.load(x, image, range);
    for (std::int64_t group = 0; group < groups_; ++group) {
      const std::span<const WeightPanel> panels = weights_.panels(group);
      const auto count = static_cast<std::int64_t>(panels.size());
      const std::int64_t begin = count * part / parts;
      const std::int64_t end = count * (part + 1) / parts;
      if (begin == end) continue;
      tiles_.locate_runs(group, run_offsets_);
      if (weights_.needs_x_sums()) sum_rows();
      for (std::int64_t i = begin; i < end; ++i) run_panel(panels[static_cast<std::size_t>(i)], writer);
    }
  }

 private:
  // The product of the tile that begins at `first` with a panel of `vectors`.
  [[nodiscard]] PanelProduct product(std::int64_t first, const std::byte* w, const std::int32_t* start, int vectors) {
    return {.rows = tiles_.rows().data() + first,
            .run_offsets = run_offsets_.data(),
            .runs = weights_.runs(),
            .run_bytes = weights_.run_elements() * leaves_.x_bytes,
            .w = w,
            .start = start,
            .start_stride = 0,
            .sums = sums_,
            .sums_stride = std::int64_t{vectors} * leaves_.lanes,
            .positions = tiles_.tile_size(first),
            .vectors = vectors};
  }

  // sum x' of all positions, for zero points of w.
  void sum_rows() {
    static constexpr std::int32_t kZeros[kPanelChannels] = {};
    x_sums_.clear();
    for (std::int64_t first = 0; first < tiles_.positions(); first += tiles_.tile_size(first)) {
      const PanelProduct p = product(first, weights_.ones(), kZeros, 1);
      leaves_.multiply(&p);
      for (int i = 0; i < p.positions; ++i) x_sums_.push_back(sums_[i * p.sums_stride]);
    }
  }

  void run_panel(const WeightPanel& panel, const TileWriter& writer) {
    for (std::int64_t first = 0; first < tiles_.positions(); first += tiles_.tile_size(first)) {
      const PanelProduct p = product(first, weights_.data(panel), weights_.start(panel), panel.vectors);
      leaves_.multiply(&p);
      if (weights_.needs_x_sums()) {
        leaves_.subtract_products(sums_, p.sums_stride, p.positions, p.vectors, x_sums_.data() + first,
                                  weights_.zero_points(panel));
      }
      writer.write({.sums = sums_,
                    .stride = p.sums_stride,
                    .positions = p.positions,
                    .channels = panel.channels,
                    .first_channel = panel.first_channel,
                    .first_lane = panel.first_lane,
                    .first_position = tiles_.first_position() + first,
                    .image = tiles_.image()});
    }
  }

  const ConvolutionLeaves& leaves_;
  const PackedWeights& weights_;
  std::int64_t groups_;
  BandTiles tiles_;
  std::vector<std::int64_t> run_offsets_;
  std::vector<std::int32_t> x_sums_;
  alignas(64) std::int32_t sums_[kTilePositions * kPanelChannels];
};

}  // namespace

std::unique_ptr<ConvolutionPath> make_banded_path(const ConvolutionSetup& setup, const Lowering& lowering,
                                                  std::span<const std::byte> w) {
  auto weights = std::make_unique<PackedWeights>(setup.operands, w, setup.leaves, lowering.runs());
  const std::size_t panels = weights->panels(0).size();
  return std::make_unique<BandPath<BandRun, PackedWeights>>(setup, lowering, std::move(weights), panels);
}

}  // namespace qconform::reference
