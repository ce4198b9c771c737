// The sweep's model of DequantizeLinear.
#pragma once

#include "harness/suites/sweep/model.h"

namespace qconform::sweep {

[[nodiscard]] SweptModel swept_dequantize_linear();

}  // namespace qconform::sweep
