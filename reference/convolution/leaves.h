// The leaf routines of a blocked convolution: all that one instruction set contributes.
//
// The driver (blocked.h) is compiled for any processor of the architecture. It walks over tiles,
// gathers their input bytes and hands them to these routines. Plain functions on raw memory: see
// docs/kernels.md for why an ISA file holds nothing else.
#pragma once

#include <cstdint>

namespace qconform::reference {

/// Output positions gathered at a time; a multiple of every position_tile. 64, so that one word
/// has a bit for each.
inline constexpr int kTilePositions = 64;

/// Products summed at a time; a multiple of every depth_unit.
inline constexpr int kTileDepth = 512;

/// Depth (the products of one output element) is handled in units of depth_unit. A panel of x is
/// int16 [units][position_tile][depth_unit], a panel of w is int16 [units][channels][depth_unit]:
/// values less their zero points, in [-255, 255]. What the last unit lacks has weight zero.
struct ConvolutionLeaves {
  int channel_tile;   ///< most output channels of one multiply
  int position_tile;  ///< output positions of one multiply
  int depth_unit;

  /// One panel of x from gathered bytes. Row d (of units * depth_unit) is at rows + d *
  /// kTilePositions and holds position_tile bytes. An element is (byte ^ flip) - offset with the
  /// byte taken as unsigned: flip is 0x80 and offset zero_point + 128 for int8.
  void (*pack)(const std::uint8_t* rows, int units, std::uint8_t flip, std::int16_t offset, std::int16_t* panel);

  /// sums[m * sums_stride + p] += sum over depth of w[m] * x[p], modulo 2^32, for every m <
  /// channels <= channel_tile and p < position_tile.
  void (*multiply)(const std::int16_t* w, const std::int16_t* x, int units, int channels, std::int32_t* sums,
                   std::int64_t sums_stride);
};

}  // namespace qconform::reference
