#include "reference/kernels/drivers/conv_integer.h"

#include "reference/kernels/drivers/blocked.h"
#include "reference/kernels/drivers/tile_output.h"

namespace qconform::reference {
namespace {

class CopyingWriter final : public TileWriter {
 public:
  CopyingWriter(const OutputPlacement& place, std::byte* y) : place_(place), y_(y) {}

  void write(const SumsTile& tile) const override { store_sums(tile, place_, y_); }

  void write_lines(const LineLeaves& leaves, const PanelProduct& product, const LinesTile& tile) const override {
    leaves.multiply(&product);
    store_lines(tile, y_);
  }
  void write_lines(const LineLeaves& leaves, const PlaneProduct& product, const LinesTile& tile) const override {
    leaves.multiply_plane(&product);
    store_lines(tile, y_);
  }

 private:
  OutputPlacement place_;
  std::byte* y_;
};

class BlockedConvInteger final : public PreparedNode {
 public:
  BlockedConvInteger(const ConvInteger& node, ImageLayout layout, std::span<const std::byte> w,
                     const ConvolutionLeaves& convolution)
      : convolution_(node.operands, layout, w, convolution, std::nullopt) {}

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override { run_on(1, x, y); }

  void run_on(int threads, std::span<const std::byte> x, std::span<std::byte> y) const override {
    convolution_.run(x, CopyingWriter(convolution_.output(), y.data()), threads);
  }

 private:
  BlockedConvolution convolution_;
};

}  // namespace

std::unique_ptr<PreparedNode> prepare_blocked_conv_integer(const ConvInteger& node, ImageLayout layout,
                                                           std::span<const std::byte> w,
                                                           const ConvolutionLeaves& convolution) {
  return std::make_unique<BlockedConvInteger>(node, layout, w, convolution);
}

}  // namespace qconform::reference
