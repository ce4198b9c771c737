// Random valid convolutions, QLinearConv and ConvInteger.
#pragma once

#include "harness/core/case.h"
#include "harness/suites/rng.h"
#include "harness/suites/swarm.h"

namespace qconform {

[[nodiscard]] Case random_qlinear_conv(Rng& rng, const Swarm& swarm = Swarm());
[[nodiscard]] Case random_conv_integer(Rng& rng, const Swarm& swarm = Swarm());

}  // namespace qconform
