// The convolution driver of the optimized kernel sets: packs weights once, then walks over tiles
// and lets the leaf routines of one instruction set do the arithmetic. Itself it is ordinary code
// for any processor of the architecture.
//
// Two ways lead to the packed rows of x: bands (lowering.h) where one fits the cache, and for
// everything else, say three spatial dimensions, a gather of bounded tiles (gathered.h). Depthwise
// layers have an inner loop of their own (depthwise.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "reference/convolution/accumulate.h"
#include "reference/convolution/depthwise.h"
#include "reference/convolution/layout.h"
#include "reference/convolution/leaves.h"
#include "reference/convolution/lowering.h"
#include "reference/convolution/packed_weights.h"
#include "reference/convolution/tile_writer.h"

namespace qconform::reference {

/// A convolution with packed weights.
class BlockedConvolution {
 public:
  /// `leaves` must outlive this; w is not needed afterwards.
  BlockedConvolution(const ConvolutionOperands& operands, ImageLayout layout, std::span<const std::byte> w,
                     const ConvolutionLeaves& leaves);

  /// Hands every sum to `writer` exactly once, from at most `threads` threads.
  void run(std::span<const std::byte> x, const TileWriter& writer, int threads) const;

  /// Which channel each lane of the sums belongs to.
  [[nodiscard]] std::span<const WeightPanel> panels() const {
    return depthwise_ ? depthwise_->panels() : weights_->panels();
  }
  [[nodiscard]] OutputPlacement output() const;

 private:
  class BandRun;

  void run_bands(std::span<const std::byte> x, const TileWriter& writer, int threads) const;

  ConvolutionOperands operands_;
  ImageLayout layout_;
  const ConvolutionLeaves& leaves_;
  std::optional<Lowering> lowering_;
  // One of these.
  std::optional<DepthwiseWeights> depthwise_;
  std::optional<PackedWeights> weights_;
};

}  // namespace qconform::reference
