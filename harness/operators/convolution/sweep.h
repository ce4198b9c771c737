// The sweep's model of QLinearConv and ConvInteger.
#pragma once

#include "harness/suites/sweep/model.h"

namespace qconform::sweep {

[[nodiscard]] SweptModel swept_convolutions();

}  // namespace qconform::sweep
