// The convolution driver of the optimized kernel sets: packs weights once, then walks over tiles
// and lets the leaf routines of one instruction set do the arithmetic. Itself it is ordinary code
// for any processor of the architecture.
//
// Memory beside x, w and y is bounded: a tile of kTileDepth x kTilePositions inputs, never the
// im2col of a layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/convolution/accumulate.h"
#include "reference/convolution/leaves.h"

namespace qconform::reference {

/// Turns finished sums into output.
class RowWriter {
 public:
  RowWriter() = default;
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;
  virtual ~RowWriter() = default;

  /// Writes output elements [element, element + count) of y, all of one output channel, from sums
  /// (bias included, modulo 2^32). count <= kTilePositions; sums has room for kTilePositions.
  virtual void write(std::size_t channel, const std::int32_t* sums, int count, std::int64_t element) const = 0;
};

/// A convolution with packed weights.
class BlockedConvolution {
 public:
  /// `leaves` must outlive this; w is not needed afterwards.
  BlockedConvolution(const ConvolutionOperands& operands, std::span<const std::byte> w,
                     const ConvolutionLeaves& leaves);

  /// Computes all sums and hands each to `writer` exactly once.
  void run(const std::byte* x, const RowWriter& writer) const;

 private:
  struct Tile;
  struct Block;

  void pack_weights(std::span<const std::byte> w);
  void pack_channels(std::span<const std::byte> w, std::int64_t first_channel, std::int64_t channels);
  void run_channels(const std::byte* x, const Block& block, Tile& tile) const;
  void sum_tile(const Block& block, std::int64_t depth_begin, int units, Tile& tile) const;

  ConvolutionOperands operands_;
  const ConvolutionLeaves& leaves_;
  std::int64_t padded_depth_;  // depth rounded up to whole units
  // For each group, then for each channel_tile of its channels (the last one may be smaller):
  // int16 [padded_depth_ / depth_unit][channels][depth_unit], the depth in TileGather's order.
  std::vector<std::int16_t> w_;
};

}  // namespace qconform::reference
