// The convolution driver of the optimized kernel sets: packs weights once, then walks over tiles
// and lets the leaf routines of one instruction set do the arithmetic. Itself it is ordinary code
// for any processor of the architecture. path.h lists the ways.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "reference/kernels/drivers/path.h"

namespace qconform::reference {

/// A convolution with packed weights.
class BlockedConvolution {
 public:
  /// `leaves` must outlive this; w is not needed afterwards. `profile` is what the writer requantizes with, none where
  /// sums are the output.
  BlockedConvolution(const ConvolutionOperands& operands, ImageLayout layout, std::span<const std::byte> w,
                     const ConvolutionLeaves& leaves, std::optional<RoundingProfile> profile);

  /// Hands every sum to `writer` exactly once, from at most `threads` threads.
  void run(std::span<const std::byte> x, const TileWriter& writer, int threads) const;

  /// Which channel each lane of the sums belongs to.
  [[nodiscard]] std::span<const WeightPanel> panels() const { return path_->panels(); }
  [[nodiscard]] OutputPlacement output() const;

 private:
  const ConvolutionSetup setup_;  // the path refers to it
  std::unique_ptr<ConvolutionPath> path_;
};

}  // namespace qconform::reference
