// From a row of the convolutions' model to a case: the steps that the sweep and the sizes share.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/case.h"
#include "harness/operators/convolution/sweep_model.h"

namespace qconform::sweep::convolution {

/// `positions`: outputs on all axes but the last that there is room for in any case. `pads_behind`: as of draw_axes().
[[nodiscard]] Shape draw_shape(Rng& rng, const Row& row, std::int64_t positions, bool pads_behind = false);
[[nodiscard]] std::vector<Attribute> attributes_of(const Shape& shape, const Row& row);
[[nodiscard]] Case case_of(const Row& row, std::vector<Attribute> attributes, const Shape& shape, Values values);

}  // namespace qconform::sweep::convolution
