// Random valid QuantizeLinear and DequantizeLinear cases.
#pragma once

#include "harness/core/case.h"
#include "harness/source/rng.h"

namespace qconform {

[[nodiscard]] Case random_quantize_linear(Rng& rng);
[[nodiscard]] Case random_dequantize_linear(Rng& rng);

}  // namespace qconform
