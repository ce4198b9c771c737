// ConvInteger-10 as an operator of the harness.
#pragma once

#include "harness/operators/operator.h"

namespace qconform {
[[nodiscard]] const Operator& conv_integer_operator();
}  // namespace qconform
