// Classes of a convolution's data and scales, from the values.
#pragma once

#include <vector>

#include "harness/core/tensor.h"
#include "harness/operators/convolution/sweep_model.h"

namespace qconform::sweep::convolution {

/// `ends` when most elements of x and most of w are an end of their type; `uniform` when neither's are.
/// A mixture is neither class: 255.
[[nodiscard]] std::uint8_t data_class(const Tensor& x, const Tensor& w);

[[nodiscard]] std::uint8_t scales_class(float x_scale, const std::vector<float>& w_scale, float y_scale, bool near_tie);

}  // namespace qconform::sweep::convolution
