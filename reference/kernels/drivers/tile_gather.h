// Gathers the input bytes under a block of output positions: a bounded piece of im2col.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/convolution/geometry.h"

namespace qconform::reference {

/// Row k of a tile has one byte for each position of the block: the input under tap k / channels of
/// the group's channel k % channels. Taps are the slow index so that all channels of a tap share
/// the work of locating it. What lies in the padding gets the padding byte (rule C1).
class TileGather {
 public:
  /// `geometry` must outlive this.
  TileGather(const ConvolutionGeometry& geometry, std::uint8_t padding);

  /// Chooses the block: output positions [first, first + count), count <= kTilePositions.
  void select(std::int64_t first, int count);

  /// Writes rows [depth_begin, depth_end), kTilePositions bytes each, from the group of channels
  /// whose first byte in the image is at x. Reads no byte outside the group's channels.
  void gather(const std::byte* x, std::int64_t depth_begin, std::int64_t depth_end, std::uint8_t* rows);

 private:
  // Consecutive positions of the block that lie in one row of the output.
  struct Segment {
    int first;
    int count;
    std::int64_t last_index;  // along the last axis, of the first position
  };
  // Consecutive positions of the block whose inputs are evenly spaced, and inside the input.
  struct Run {
    int first;
    int count;
    std::int64_t offset;  // the offset of the first input byte within its channel
  };

  void locate_window(std::int64_t first_tap);
  void locate_tap(std::int64_t tap);
  void locate_segment(std::size_t segment, std::size_t first_run);
  void fill_row(const std::byte* channel, const Run* begin, const Run* end, std::uint8_t* row) const;

  const ConvolutionGeometry& geometry_;
  std::uint8_t padding_;
  std::int64_t channels_;
  std::int64_t channel_size_;
  std::int64_t taps_;

  std::vector<Segment> segments_;
  std::vector<std::int64_t> outer_;  // [segment][axis]: output indices along all axes but the last

  // Runs of the taps [window_begin_, window_begin_ + run_ends_.size()), kept until the block changes.
  std::int64_t window_begin_ = 0;
  std::vector<std::size_t> run_ends_;
  std::vector<Run> runs_;
  std::vector<std::int64_t> shifts_;  // the shifts of the tap being located, along each axis
};

}  // namespace qconform::reference
