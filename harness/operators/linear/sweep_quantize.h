// The sweep's model of QuantizeLinear.
#pragma once

#include "harness/suites/sweep/model.h"

namespace qconform::sweep {

[[nodiscard]] SweptModel swept_quantize_linear();

}  // namespace qconform::sweep
