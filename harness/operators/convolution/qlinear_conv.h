// QLinearConv-10 as an operator of the harness.
#pragma once

#include "harness/operators/operator.h"

namespace qconform {
[[nodiscard]] const Operator& qlinear_conv_operator();
}  // namespace qconform
