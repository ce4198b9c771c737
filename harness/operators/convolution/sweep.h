// From a row of the convolutions' model to a case: the steps that the sweep and the sizes share.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/case.h"
#include "harness/operators/convolution/sweep_model.h"

namespace qconform::sweep::convolution {

/// `positions`: outputs on all axes but the last that there is room for in any case. `pads_behind`: as of draw_axes().
[[nodiscard]] reference::ConvolutionGeometry draw_sizes(Rng& rng, const Row& row, std::int64_t positions,
                                                        bool pads_behind = false);
/// Leaves out what the row does not state: attributes, zero points, parameters of each channel.
[[nodiscard]] Case finished(const Row& row, Convolution drawn);

}  // namespace qconform::sweep::convolution
