// The sweep's model of QuantizeLinear.
#pragma once

#include "harness/suites/sweep/model.h"

namespace qconform::sweep {

[[nodiscard]] Family quantize_linear_family();

}  // namespace qconform::sweep
