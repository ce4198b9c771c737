// QuantizeLinear as an operator of the harness.
#pragma once

#include "harness/operators/operator.h"

namespace qconform {
[[nodiscard]] const Operator& quantize_linear_operator();
}  // namespace qconform
