// The weights of a convolution as products by lines take them: int8, one row for each output channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/convolution/accumulate.h"
#include "reference/kernels/drivers/aligned_memory.h"
#include "reference/kernels/drivers/packed_weights.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

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
  /// What the sums of each channel start with, bias included.
  [[nodiscard]] const std::int32_t* start() const { return start_.data(); }
  /// At most kTilePositions channels each; lanes are channels.
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
