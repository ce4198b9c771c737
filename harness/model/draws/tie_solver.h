// Output scales that put a sum, before it is rounded, on half an odd integer, or as near to it as a
// float32 lets them, or a multiplier just below a power of two: where roundings and their rules show. In exact
// arithmetic, the same on every machine.
#pragma once

#include <cstdint>
#include <optional>

namespace qconform {

/// RN32(|sum| * x_scale * w_scale / h) for h = half_steps / 2: with this y_scale the value before
/// rounding is h, or as near to it as a float32 can bring it. The largest float32 stands for what is
/// larger, and 0 for what is too small. Scales are finite and positive, |sum| < 2^47, half_steps > 0.
[[nodiscard]] float tie_scale(std::int64_t sum, float x_scale, float w_scale, std::int64_t half_steps);

/// The y_scale under which x_scale * w_scale / y_scale lies below 2^exponent by at most 2^-32 of it. Nothing where no
/// float32 does that: one of some hundred pairs of scales has one. Scales are finite, positive and normal, and so is
/// the result.
[[nodiscard]] std::optional<float> carry_scale(float x_scale, float w_scale, int exponent);

/// The float32 `steps` units in the last place away; the result must be finite and positive.
[[nodiscard]] float neighbour(float value, std::int64_t steps);

/// Whether y_scale lies within two units in the last place of a tie_scale() with odd half_steps below
/// 2048. No sum of 0 does.
[[nodiscard]] bool is_near_tie(std::int64_t sum, float x_scale, float w_scale, float y_scale);

}  // namespace qconform
