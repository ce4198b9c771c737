// Random valid cases of QuantizeLinear and DequantizeLinear, at every version from 10 to 25 and with
// every element type that each takes.
#pragma once

#include "harness/core/case.h"
#include "harness/suites/rng.h"
#include "harness/suites/swarm.h"

namespace qconform {

namespace feature {
inline constexpr Feature quantize_linear{2};
inline constexpr Feature dequantize_linear{3};
}  // namespace feature

[[nodiscard]] Case random_quantize_linear(Rng& rng);
[[nodiscard]] Case random_dequantize_linear(Rng& rng);

}  // namespace qconform
