// A layer's shape as a case with data.
#pragma once

#include "harness/bench/layer_shape.h"
#include "harness/bench/layers.h"

namespace qconform::bench {

/// QLinearConv with a bias. Uniform data; the output's scale and the bias put most outputs well inside the
/// output's range, so that few saturate and a wrong sum shows.
[[nodiscard]] Case convolution_case(const LayerShape& shape, const LayerOptions& options);

/// QuantizeLinear from float32, or DequantizeLinear to float32, whose float32 tensor has `elements` elements.
/// `type` is the quantized one.
[[nodiscard]] Case linear_case(bool quantize, ElementType type, std::int64_t elements, const LayerOptions& options);

}  // namespace qconform::bench
