// Hazards of adding products in less than 32 bits: pairs and taps in int16.
#pragma once

#include "harness/operators/convolution/hazards.h"

namespace qconform {

/// Looking at every product again would double the cost of a case. At most kExaminedWindows windows,
/// spread evenly over the output, are examined, and no more products than kExaminedProducts unless
/// one window alone has more. What is counted are windows examined.
inline constexpr std::int64_t kExaminedWindows = 8;
inline constexpr std::int64_t kExaminedProducts = 1024;

void count_accumulation_hazards(const ConvolutionView& convolution, HazardCounts& counts);

}  // namespace qconform
