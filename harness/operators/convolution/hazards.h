// Hazards of a convolution before requantization: windows, padding, channels, sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/hazards/hazard.h"
#include "reference/convolution/accumulate.h"

namespace qconform {

/// A convolution and its exact sums.
struct ConvolutionView {
  const reference::ConvolutionOperands& operands;
  bool same_padding;               ///< auto_pad is SAME_UPPER or SAME_LOWER
  std::span<const float> w_scale;  ///< one per output channel; empty for ConvInteger
  std::span<const std::byte> x;
  std::span<const std::byte> w;
  std::span<const std::int64_t> sums;  ///< bias included, in the order of y
};

/// Counts in a time that is small beside that of the sums: per window of each axis, per element of x
/// and w, per sum, and for int16 sums over a bounded number of products (accumulation_hazards.h).
void count_convolution_hazards(const ConvolutionView& convolution, HazardCounts& counts);

}  // namespace qconform
