// Random valid convolutions, QLinearConv and ConvInteger.
#pragma once

#include "harness/core/case.h"
#include "harness/source/rng.h"

namespace qconform {

[[nodiscard]] Case random_qlinear_conv(Rng& rng);
[[nodiscard]] Case random_conv_integer(Rng& rng);

}  // namespace qconform
