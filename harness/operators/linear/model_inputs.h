// Shapes of what a model does not tell of an element-wise operator: what Family says of it.
#pragma once

#include "harness/suites/node_inputs.h"

namespace qconform {

[[nodiscard]] Result<InputShape> linear_data_shape(const NodeInputs& inputs);
[[nodiscard]] Result<std::vector<std::int64_t>> linear_parameter_shape(const NodeInputs& inputs, std::string_view name);

}  // namespace qconform
