// Output scales that put a requantized sum as near to the middle between two integers as float32 lets
// them, where roundings and their rules show.
#pragma once

#include <cstdint>

namespace qconform {

/// The float32 y_scale, to within one unit in the last place, for which |sum| * x_scale * w_scale /
/// y_scale is `half`. Scales are positive, `sum` is not 0, `half` is half an odd integer.
[[nodiscard]] float tie_scale(std::int64_t sum, float x_scale, float w_scale, double half);

/// Whether y_scale lies within two units in the last place of such a scale, for a `half` below 1024.
[[nodiscard]] bool is_near_tie(std::int64_t sum, float x_scale, float w_scale, float y_scale);

}  // namespace qconform
