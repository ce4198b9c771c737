// Corner cases of a convolution before requantization: windows, padding, channels, sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/core/corner_cases/corner_case.h"
#include "reference/convolution/convolution.h"

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
/// and w, per sum, and for int16 sums over a bounded number of products.
void count_convolution_corner_cases(const ConvolutionView& convolution, CornerCaseCounts& counts);

/// Looking at every product again would double the cost of a case. At most kExaminedWindows windows,
/// spread evenly over the output, are examined, and no more products than kExaminedProducts unless
/// one window alone has more. What is counted are windows examined.
inline constexpr std::int64_t kExaminedWindows = 8;
inline constexpr std::int64_t kExaminedProducts = 1024;

void count_accumulation_corner_cases(const ConvolutionView& convolution, CornerCaseCounts& counts);

}  // namespace qconform
