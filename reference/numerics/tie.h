// How near a value comes to the middle between two integers, where rounding rules and roundings show.
#pragma once

#include <cstdint>

namespace qconform::reference {

enum class TieDistance : std::uint8_t {
  exact,  ///< half an odd integer
  near,   ///< within 1e-4 of one, but not on it
  far,    ///< neither, or so large that every 8-bit output saturates
};

/// Returns how far accumulator * x_scale * w_scale / y_scale is from a tie; finite scales, y_scale not 0, |accumulator|
/// < 2^47.
[[nodiscard]] TieDistance tie_distance(std::int64_t accumulator, float x_scale, float w_scale, float y_scale);

}  // namespace qconform::reference
