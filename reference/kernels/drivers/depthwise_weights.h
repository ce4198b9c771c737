// The weights of a depthwise convolution as micro-kernels take them: no weight is shared by channels, so
// every channel is a lane of its own.
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

/// Weights by blocks of channels. The zero points of w are subtracted before packing. Where that leaves a
/// weight outside int8 and x has bytes, every tap is listed twice or three times and the weight is the sum
/// of its parts, so that no sum of x is needed.
class DepthwiseWeights {
 public:
  DepthwiseWeights(const ConvolutionOperands& operands, std::span<const std::byte> w,
                   const ConvolutionMicroKernels& micro_kernels);

  [[nodiscard]] std::span<const WeightPanel> panels() const { return panels_; }
  [[nodiscard]] const DepthwiseBlock& block(const WeightPanel& panel) const {
    const DepthwiseBlock& narrow = micro_kernels_.depthwise[1];
    return panel.channels <= narrow.channels ? narrow : micro_kernels_.depthwise[0];
  }
  [[nodiscard]] const std::byte* data(const WeightPanel& panel) const { return memory_.data() + panel.offset; }
  [[nodiscard]] const std::int32_t* start(const WeightPanel& panel) const { return start_.data() + panel.first_lane; }
  /// Tap groups of one output element, and the taps that they list (surplus ones have weight 0). A group is a
  /// column of the kernel where that takes no more groups, so that neighbouring windows share groups.
  [[nodiscard]] int groups() const { return groups_; }
  [[nodiscard]] std::int64_t tap(std::int64_t listed) const;

 private:
  void pack_channel(const ConvolutionOperands& operands, const WeightPanel& panel, int index,
                    std::span<const std::byte> w);
  [[nodiscard]] bool by_columns() const;
  // Where part `part` of tap `tap` is listed.
  [[nodiscard]] std::int64_t listed(std::int64_t tap, std::int64_t part) const;

  const ConvolutionMicroKernels& micro_kernels_;
  std::int64_t taps_;
  std::int64_t columns_;  // of the kernel
  std::int64_t parts_;    // of a weight
  int groups_;
  std::vector<WeightPanel> panels_;
  AlignedMemory memory_;
  std::vector<std::int32_t> start_;
};

}  // namespace qconform::reference
