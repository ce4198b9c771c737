// QLinearConv and ConvInteger: one convolution, whose sums are requantized or are the output.
#include <algorithm>

#include "reference/kernels/drivers/drivers.h"
#include "reference/kernels/drivers/path.h"
#include "reference/kernels/drivers/requantizing_writer.h"

namespace qconform::reference {

bool takes_lines(const ConvolutionSetup& setup) {
  const LineMicroKernels* const lines = setup.micro_kernels.lines;
  if (lines == nullptr || setup.layout != ImageLayout::channels_first) return false;
  return !setup.profile || lines->multiply_requantized[static_cast<std::size_t>(*setup.profile)] != nullptr;
}

namespace {

constexpr std::int64_t kMaxStripBytes = std::int64_t{1} << 24;  // wider windows are gathered

std::unique_ptr<ConvolutionPath> make_path(const ConvolutionSetup& setup, std::span<const std::byte> w) {
  const ConvolutionGeometry& g = setup.operands.geometry;
  const bool depthwise = g.group > 1 && g.group_input_channels() == 1 && g.group_output_channels() == 1 &&
                         setup.micro_kernels.depthwise[0].channels > 0;
  const std::optional<Lowering> lowering = lower(g, setup.micro_kernels, depthwise, kMaxStripBytes);
  if (auto path = make_plane_path(setup, w)) return path;
  if (!lowering) return make_gathered_path(setup, w);
  if (auto path = make_pointwise_path(setup, *lowering, w)) return path;
  return depthwise ? make_depthwise_path(setup, *lowering, w) : make_dense_path(setup, *lowering, w);
}

// A convolution with packed weights.
class BlockedConvolution {
 public:
  // `profile` is what the writer requantizes with, none where sums are the output.
  BlockedConvolution(const ConvolutionOperands& operands, ImageLayout layout, std::span<const std::byte> w,
                     const ConvolutionMicroKernels& micro_kernels, std::optional<RoundingProfile> profile)
      : setup_{operands, layout, micro_kernels, profile}, path_(make_path(setup_, w)) {}

  // Hands every sum to `writer` exactly once, from at most `threads` threads.
  void run(std::span<const std::byte> x, const TileWriter& writer, int threads) const {
    const ConvolutionGeometry& g = setup_.operands.geometry;
    if (g.batch == 0 || g.output_channels == 0 || g.output_positions() == 0) return;
    path_->run(x, writer, std::max(1, threads));
  }

  // The channels that the lanes of the sums belong to.
  [[nodiscard]] std::span<const WeightPanel> panels() const { return path_->panels(); }

  [[nodiscard]] OutputPlacement output() const {
    return {.channels = setup_.operands.geometry.output_channels,
            .positions = setup_.operands.geometry.output_positions(),
            .layout = setup_.layout};
  }

 private:
  const ConvolutionSetup setup_;  // the path refers to it
  std::unique_ptr<ConvolutionPath> path_;
};

class BlockedQLinearConv final : public PreparedNode {
 public:
  BlockedQLinearConv(const QLinearConv& node, RoundingProfile profile, ImageLayout layout, std::span<const std::byte> w,
                     const MicroKernels& micro_kernels)
      : convolution_(node.operands, layout, w, micro_kernels.convolution, profile),
        requantization_(node, profile, w, micro_kernels.elementwise),
        micro_kernels_(micro_kernels.convolution) {
    for (const WeightPanel& panel : convolution_.panels()) {
      for (int m = 0; m < panel.channels; ++m) {
        requantization_.assign_lane(panel.first_lane + m, panel.first_channel + m);
      }
    }
  }

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override { run_on(1, x, y); }

  void run_on(int threads, std::span<const std::byte> x, std::span<std::byte> y) const override {
    convolution_.run(x, RequantizingWriter(requantization_, micro_kernels_, convolution_.output(), y.data()), threads);
  }

 private:
  BlockedConvolution convolution_;
  PreparedRequantization requantization_;
  const ConvolutionMicroKernels& micro_kernels_;
};

class CopyingWriter final : public TileWriter {
 public:
  CopyingWriter(const OutputPlacement& placement, std::byte* y) : placement_(placement), y_(y) {}

  void write(const SumsTile& tile) const override { store_sums(tile, placement_, y_); }

  void write_lines(const LineMicroKernels& micro_kernels, const PanelProduct& product,
                   const LinesTile& tile) const override {
    micro_kernels.multiply(&product);
    store_lines(tile, y_);
  }
  void write_lines(const LineMicroKernels& micro_kernels, const PlaneProduct& product,
                   const LinesTile& tile) const override {
    micro_kernels.multiply_plane(&product);
    store_lines(tile, y_);
  }

 private:
  OutputPlacement placement_;
  std::byte* y_;
};

class BlockedConvInteger final : public PreparedNode {
 public:
  BlockedConvInteger(const ConvInteger& node, ImageLayout layout, std::span<const std::byte> w,
                     const ConvolutionMicroKernels& micro_kernels)
      : convolution_(node.operands, layout, w, micro_kernels, std::nullopt) {}

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override { run_on(1, x, y); }

  void run_on(int threads, std::span<const std::byte> x, std::span<std::byte> y) const override {
    convolution_.run(x, CopyingWriter(convolution_.output(), y.data()), threads);
  }

 private:
  BlockedConvolution convolution_;
};

}  // namespace

std::unique_ptr<PreparedNode> prepare_blocked_qlinear_conv(const QLinearConv& node, RoundingProfile profile,
                                                           ImageLayout layout, std::span<const std::byte> w,
                                                           const MicroKernels& micro_kernels) {
  return std::make_unique<BlockedQLinearConv>(node, profile, layout, w, micro_kernels);
}

std::unique_ptr<PreparedNode> prepare_blocked_conv_integer(const ConvInteger& node, ImageLayout layout,
                                                           std::span<const std::byte> w,
                                                           const ConvolutionMicroKernels& micro_kernels) {
  return std::make_unique<BlockedConvInteger>(node, layout, w, micro_kernels);
}

}  // namespace qconform::reference
