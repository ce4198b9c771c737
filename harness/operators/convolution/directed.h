// Convolutions that aim for one hazard.
#pragma once

#include "harness/core/case.h"
#include "harness/hazards/hazard.h"
#include "harness/suites/rng.h"

namespace qconform::directed {

/// A valid case of "QLinearConv" or "ConvInteger" that often reaches `hazard`, which concerns it.
[[nodiscard]] Case draw_convolution(Rng& rng, std::string_view op_type, Hazard hazard);

}  // namespace qconform::directed
