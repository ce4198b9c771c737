// The convolution driver's general way: gathers the input under a tile of output positions piece
// by piece. It takes any number of spatial dimensions and any padding, in bounded memory.
#pragma once

#include <cstddef>
#include <span>

#include "reference/convolution/accumulate.h"
#include "reference/convolution/layout.h"
#include "reference/convolution/leaves.h"
#include "reference/convolution/packed_weights.h"
#include "reference/convolution/tile_writer.h"

namespace qconform::reference {

/// What a gathered convolution is made of. The weights have one run.
struct GatheredConvolution {
  const ConvolutionOperands& operands;
  ImageLayout layout;
  const ConvolutionLeaves& leaves;
  const PackedWeights& weights;
};

/// Hands every sum to `writer` exactly once, from at most `threads` threads.
void run_gathered(const GatheredConvolution& convolution, std::span<const std::byte> x, const TileWriter& writer,
                  int threads);

}  // namespace qconform::reference
