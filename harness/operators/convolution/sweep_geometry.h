// Spatial axes of a convolution from their classes, and their classes from the axes.
#pragma once

#include "harness/suites/rng.h"
#include "harness/suites/sweep/model.h"
#include "reference/convolution/geometry.h"

namespace qconform::sweep::convolution {

/// Axes with the classes of `row`: rank, kernel, stride, dilation, pads, auto_pad and output width.
/// Under SAME_*, pads are left 0, as the attribute is. `positions` bounds the product of the outputs on
/// all axes but the last, as far as the classes let it.
[[nodiscard]] std::vector<reference::SpatialAxis> draw_axes(Rng& rng, const Row& row, std::int64_t positions);

/// Writes the classes of axes whose pads are those of the attribute (0 unless NOTSET) into `row`:
/// rank, kernel, stride, dilation, pads and output width.
void classify_axes(const std::vector<reference::SpatialAxis>& axes, Row& row);

}  // namespace qconform::sweep::convolution
