// A convolution by bands of x: what the dense and the depthwise path share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "reference/kernels/drivers/path.h"
#include "reference/kernels/drivers/pool.h"
#include "reference/kernels/drivers/strip_tiles.h"

namespace qconform::reference {

/// `Weights` are packed weights with panels(), all of them or those of a group; `Run` computes one band
/// at a time by one thread and is made of (setup, lowering, weights).
template <typename Run, typename Weights>
class BandPath final : public ConvolutionPath {
 public:
  /// `parts`: into how many parts the panels of a band can be divided.
  BandPath(const ConvolutionSetup& setup, const Lowering& lowering, std::unique_ptr<Weights> weights, std::size_t parts)
      : setup_(setup), lowering_(lowering), weights_(std::move(weights)), parts_(static_cast<std::int64_t>(parts)) {}

  void run(std::span<const std::byte> x, const TileWriter& writer, int threads) const override {
    const std::int64_t images = setup_.operands.geometry.batch;
    const BandWork work = divide_work(lowering_, setup_.leaves, images, threads, parts_);
    for_each_band(
        work, images, threads, [this] { return runs_.borrow([this] { return make_run(); }); }, x, writer);
  }

  [[nodiscard]] std::span<const WeightPanel> panels() const override { return weights_->panels(); }

 private:
  [[nodiscard]] std::unique_ptr<Run> make_run() const { return std::make_unique<Run>(setup_, lowering_, *weights_); }

  const ConvolutionSetup& setup_;
  Lowering lowering_;
  std::unique_ptr<Weights> weights_;
  std::int64_t parts_;
  mutable Pool<Run> runs_;
};

}  // namespace qconform::reference
