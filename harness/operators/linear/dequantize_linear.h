// DequantizeLinear as an operator of the harness.
#pragma once

#include "harness/operators/operator.h"

namespace qconform {
[[nodiscard]] const Operator& dequantize_linear_operator();
}  // namespace qconform
