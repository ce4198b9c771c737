// Suites ask the family of QuantizeLinear and DequantizeLinear for random and swept cases, and for the shapes that a
// model does not tell: random.cc, sweep_quantize.cc, sweep_values.cc and linear.cc.
#pragma once

#include "harness/core/case.h"
#include "harness/model/draws/draws.h"
#include "harness/model/sweep/model.h"
#include "harness/onnx/node_inputs.h"

namespace qconform {

namespace feature {
inline constexpr Feature quantize_linear{2};
inline constexpr Feature dequantize_linear{3};
}  // namespace feature

/// Valid, at every version from 10 to 25 and with every element type that the operator takes.
[[nodiscard]] Case random_quantize_linear(Rng& rng);
[[nodiscard]] Case random_dequantize_linear(Rng& rng);

}  // namespace qconform

namespace qconform::sweep {

[[nodiscard]] SweptModel swept_quantize_linear();

[[nodiscard]] SweptModel swept_dequantize_linear();

}  // namespace qconform::sweep

namespace qconform {

[[nodiscard]] Result<InputShape> linear_data_shape(const NodeInputs& inputs);
[[nodiscard]] Result<std::vector<std::int64_t>> linear_parameter_shape(const NodeInputs& inputs, std::string_view name);

}  // namespace qconform
