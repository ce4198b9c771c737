// Output scales that put a chosen sum on a tie, or one ulp beside it.
#pragma once

#include <cstdint>

namespace qconform::directed {

/// RN32(|accumulator| * x_scale * w_scale / h) for h = half_steps / 2: with this y_scale the value
/// before rounding is h, or as near to it as a float32 can bring it. In integers, the same on every
/// machine. Scales are finite and positive, accumulator is not 0 and below 2^47, half_steps > 0.
[[nodiscard]] float scale_for(std::int64_t accumulator, float x_scale, float w_scale, std::int64_t half_steps);

/// The float32 `steps` units in the last place away; the result must be finite and positive.
[[nodiscard]] float nudged(float value, int steps);

}  // namespace qconform::directed
