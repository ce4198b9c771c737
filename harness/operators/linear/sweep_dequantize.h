// The sweep's model of DequantizeLinear.
#pragma once

#include "harness/suites/sweep/model.h"

namespace qconform::sweep {

[[nodiscard]] Family dequantize_linear_family();

}  // namespace qconform::sweep
