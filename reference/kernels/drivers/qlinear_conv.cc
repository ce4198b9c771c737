#include "reference/kernels/drivers/qlinear_conv.h"

#include "reference/kernels/drivers/blocked.h"
#include "reference/kernels/drivers/requantizing_writer.h"

namespace qconform::reference {
namespace {

class BlockedQLinearConv final : public PreparedNode {
 public:
  BlockedQLinearConv(const QLinearConv& node, RoundingProfile profile, ImageLayout layout, std::span<const std::byte> w,
                     const ConvolutionLeaves& convolution, const RequantizeLeaves& requantize)
      : convolution_(node.operands, layout, w, convolution, profile),
        requantization_(node, profile, w, requantize),
        leaves_(convolution) {
    for (const WeightPanel& panel : convolution_.panels()) {
      for (int m = 0; m < panel.channels; ++m) {
        requantization_.assign_lane(panel.first_lane + m, panel.first_channel + m);
      }
    }
  }

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override { run_on(1, x, y); }

  void run_on(int threads, std::span<const std::byte> x, std::span<std::byte> y) const override {
    convolution_.run(x, RequantizingWriter(requantization_, leaves_, convolution_.output(), y.data()), threads);
  }

 private:
  BlockedConvolution convolution_;
  PreparedRequantization requantization_;
  const ConvolutionLeaves& leaves_;
};

}  // namespace

std::unique_ptr<PreparedNode> prepare_blocked_qlinear_conv(const QLinearConv& node, RoundingProfile profile,
                                                           ImageLayout layout, std::span<const std::byte> w,
                                                           const ConvolutionLeaves& convolution,
                                                           const RequantizeLeaves& requantize) {
  return std::make_unique<BlockedQLinearConv>(node, profile, layout, w, convolution, requantize);
}

}  // namespace qconform::reference
