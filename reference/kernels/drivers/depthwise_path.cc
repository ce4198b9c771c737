#include <memory>
#include <vector>

#include "reference/kernels/drivers/depthwise_weights.h"
#include "reference/kernels/drivers/strip_tiles.h"

namespace qconform::reference {
namespace {

// One strip at a time, by one thread.
class DepthwiseRun {
 public:
  DepthwiseRun(const ConvolutionSetup& setup, const Lowering& lowering, const DepthwiseWeights& weights)
      : micro_kernels_(setup.micro_kernels),
        weights_(weights),
        tiles_(setup.operands, lowering, setup.micro_kernels, setup.layout) {}

  // Part `part` of `parts` of the panels.
  void run(std::span<const std::byte> x, std::int64_t image, const StripRange& range, std::int64_t part,
           std::int64_t parts, const TileWriter& writer) {
    tiles_.load(x, image, range);
    std::vector<std::int64_t> taps;
    tiles_.locate_runs(0, taps);
    tap_offsets_.clear();
    for (int i = 0; i < weights_.groups() * micro_kernels_.group; ++i) {
      tap_offsets_.push_back(taps[static_cast<std::size_t>(weights_.tap(i))]);
    }
    const std::span<const WeightPanel> panels = weights_.panels();
    const auto count = static_cast<std::int64_t>(panels.size());
    for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
      run_panel(panels[static_cast<std::size_t>(i)], writer);
    }
  }

 private:
  void run_panel(const WeightPanel& panel, const TileWriter& writer) {
    const DepthwiseBlock& block = weights_.block(panel);
    for (std::int64_t first = 0; first < tiles_.positions(); first += tiles_.tile_size(first)) {
      const DepthwiseProduct product{.rows = tiles_.rows().data() + first,
                                     .channel_offset = panel.first_channel * micro_kernels_.x_bytes,
                                     .tap_offsets = tap_offsets_.data(),
                                     .groups = weights_.groups(),
                                     .w = weights_.data(panel),
                                     .start = weights_.start(panel),
                                     .sums = sums_,
                                     .positions = tiles_.tile_size(first)};
      writer.write_products(block, product,
                            {.sums = sums_,
                             .stride = block.channels,
                             .positions = product.positions,
                             .channels = panel.channels,
                             .first_channel = panel.first_channel,
                             .first_lane = panel.first_lane,
                             .first_position = tiles_.first_position() + first,
                             .image = tiles_.image()});
    }
  }

  const ConvolutionMicroKernels& micro_kernels_;
  const DepthwiseWeights& weights_;
  StripTiles tiles_;
  std::vector<std::int64_t> tap_offsets_;
  alignas(64) std::int32_t sums_[kTilePositions * kPanelChannels];
};

}  // namespace

std::unique_ptr<ConvolutionPath> make_depthwise_path(const ConvolutionSetup& setup, const Lowering& lowering,
                                                     std::span<const std::byte> w) {
  auto weights = std::make_unique<DepthwiseWeights>(setup.operands, w, setup.micro_kernels);
  const std::size_t panels = weights->panels().size();
  return std::make_unique<StripPath<DepthwiseRun, DepthwiseWeights>>(setup, lowering, std::move(weights), panels);
}

}  // namespace qconform::reference
