// The weights of a convolution as micro-kernels take them, and what zero points add to the sums.
//
// With x' and w' the packed values and zx', zw' their zero points:
//
//   sum (x' - zx')(w' - zw')  =  sum x'w'  +  [K zx' zw' - zx' sum w']  -  zw' sum x'
//
// The bracket depends on the channel alone and is part of what the sums start with. The last term
// is zero for most models; where it is not, sum x' comes from one more panel whose weights are 1.
// Padding is packed as zx' and so contributes nothing (rule C1). All of it holds modulo 2^32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/convolution/convolution.h"
#include "reference/kernels/drivers/parallel.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

/// Returns the byte that is XORed to each byte of x to give it the sign that micro-kernels take.
[[nodiscard]] constexpr std::uint8_t x_flip(const ConvolutionOperands& operands,
                                            const ConvolutionMicroKernels& micro_kernels) {
  return (operands.x_type == ElementType::int8) != micro_kernels.signed_x ? 0x80 : 0;
}
/// Returns the zero point of x after its bytes are XORed with x_flip().
[[nodiscard]] constexpr std::int32_t packed_x_zero_point(const ConvolutionOperands& operands,
                                                         const ConvolutionMicroKernels& micro_kernels) {
  const std::int32_t shift = x_flip(operands, micro_kernels);
  return operands.x_zero_point + (micro_kernels.signed_x ? -shift : shift);
}

/// Output channels of one group that are computed together.
struct WeightPanel {
  std::int64_t first_channel;  ///< index among the channels of the output
  int channels;
  int vectors;              ///< channels rounded up
  std::int64_t first_lane;  ///< index into arrays with one entry for each lane of all panels
  std::int64_t offset;      ///< bytes from the begin of all weights
};

class PackedWeights {
 public:
  /// `runs` divides the depth, whose order is taps outside, channels inside.
  PackedWeights(const ConvolutionOperands& operands, std::span<const std::byte> w,
                const ConvolutionMicroKernels& micro_kernels, std::int64_t runs);

  [[nodiscard]] std::int64_t runs() const { return runs_; }
  /// Elements of one run, rounded up to whole units.
  [[nodiscard]] std::int64_t run_elements() const { return padded_run_; }
  [[nodiscard]] std::span<const WeightPanel> panels() const { return panels_; }
  [[nodiscard]] std::span<const WeightPanel> panels(std::int64_t group) const;
  [[nodiscard]] std::int64_t lanes() const { return static_cast<std::int64_t>(start_.size()); }

  [[nodiscard]] const std::byte* data(const WeightPanel& panel) const { return memory_.data() + panel.offset; }
  /// Returns the number that the sum of each lane of a panel starts with, bias included.
  [[nodiscard]] const std::int32_t* start(const WeightPanel& panel) const { return start_.data() + panel.first_lane; }

  /// Whether x' and w' are packed less their zero points (x_bytes 2).
  [[nodiscard]] bool packs_differences() const { return micro_kernels_.x_bytes == 2; }

  /// Whether sum x' is needed, and the panel of one vector that computes it in its first lane.
  [[nodiscard]] bool needs_x_sums() const { return !ones_.empty(); }
  [[nodiscard]] const std::byte* ones() const { return ones_.data(); }
  [[nodiscard]] const std::int32_t* zero_points(const WeightPanel& panel) const {
    return zero_points_.data() + panel.first_lane;
  }

 private:
  void divide_into_panels(const ConvolutionGeometry& geometry);
  void pack_channel(const ConvolutionOperands& operands, const WeightPanel& panel, int index,
                    std::span<const std::byte> w);
  void pack_ones();
  void store(std::byte* panel, std::int64_t panel_lanes, std::int64_t lane, std::int64_t depth, std::int32_t value);

  const ConvolutionMicroKernels& micro_kernels_;
  std::int64_t runs_;
  std::int64_t run_;
  std::int64_t padded_run_;
  std::int64_t group_panels_ = 0;
  std::vector<WeightPanel> panels_;  // group by group
  AlignedMemory memory_;
  AlignedMemory ones_;
  std::vector<std::int32_t> start_;
  std::vector<std::int32_t> zero_points_;
};

/// Weights less their zero points, with their depth divided into runs that are rounded up to a multiple of four.
class LineWeights {
 public:
  /// `run` elements of depth, in the order of w.
  LineWeights(const ConvolutionOperands& operands, std::span<const std::byte> w,
              const ConvolutionMicroKernels& micro_kernels, std::int64_t run);

  /// Whether all differences are int8. Otherwise there is nothing here.
  [[nodiscard]] bool fit() const { return fit_; }

  [[nodiscard]] std::int64_t row_bytes() const { return row_bytes_; }
  [[nodiscard]] const std::byte* row(std::int64_t channel) const { return memory_.data() + channel * row_bytes_; }
  /// Returns the number that the sum of each channel starts with, bias included.
  [[nodiscard]] const std::int32_t* start() const { return start_.data(); }
  /// Returns panels of at most kTilePositions channels; their lanes are channels.
  [[nodiscard]] std::span<const WeightPanel> panels() const { return panels_; }

 private:
  [[nodiscard]] bool pack_row(const ConvolutionOperands& operands, std::span<const std::byte> w, std::int64_t channel,
                              std::int64_t run, std::int64_t x_zero_point);
  void divide_into_panels(std::int64_t channels);

  bool fit_ = true;
  std::int64_t row_bytes_;
  AlignedMemory memory_;
  std::vector<std::int32_t> start_;
  std::vector<WeightPanel> panels_;
};

}  // namespace qconform::reference
