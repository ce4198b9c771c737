#include "reference/kernels/drivers/blocked.h"

#include <algorithm>
#include <optional>

namespace qconform::reference {
namespace {

constexpr std::int64_t kMaxBandBytes = std::int64_t{1} << 24;  // wider windows are gathered

std::unique_ptr<ConvolutionPath> make_path(const ConvolutionSetup& setup, std::span<const std::byte> w) {
  const ConvolutionGeometry& g = setup.operands.geometry;
  const bool depthwise = g.group > 1 && g.group_input_channels() == 1 && g.group_output_channels() == 1 &&
                         setup.leaves.depthwise[0].channels > 0;
  const std::optional<Lowering> lowering = lower(g, setup.leaves, depthwise, kMaxBandBytes);
  if (auto path = make_plane_path(setup, w)) return path;
  if (!lowering) return make_gathered_path(setup, w);
  if (auto path = make_pointwise_path(setup, *lowering, w)) return path;
  return depthwise ? make_depthwise_path(setup, *lowering, w) : make_banded_path(setup, *lowering, w);
}

}  // namespace

bool takes_lines(const ConvolutionSetup& setup) {
  const LineLeaves* const lines = setup.leaves.lines;
  if (lines == nullptr || setup.layout != ImageLayout::channels_first) return false;
  return !setup.profile || lines->multiply_requantized[static_cast<std::size_t>(*setup.profile)] != nullptr;
}

BlockedConvolution::BlockedConvolution(const ConvolutionOperands& operands, ImageLayout layout,
                                       std::span<const std::byte> w, const ConvolutionLeaves& leaves,
                                       std::optional<RoundingProfile> profile)
    : setup_{operands, layout, leaves, profile}, path_(make_path(setup_, w)) {}

OutputPlacement BlockedConvolution::output() const {
  return {.channels = setup_.operands.geometry.output_channels,
          .positions = setup_.operands.geometry.output_positions(),
          .layout = setup_.layout};
}

void BlockedConvolution::run(std::span<const std::byte> x, const TileWriter& writer, int threads) const {
  const ConvolutionGeometry& g = setup_.operands.geometry;
  if (g.batch == 0 || g.output_channels == 0 || g.output_positions() == 0) return;
  path_->run(x, writer, std::max(1, threads));
}

}  // namespace qconform::reference
