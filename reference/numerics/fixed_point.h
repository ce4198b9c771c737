// Requantization by a 31-bit integer multiplier and shifts, as TensorFlow Lite, gemmlowp and CMSIS-NN do it: the pinned
// profiles tflite and tflite-single-rounding. TensorFlow Lite's sources are their only description.
//
//   M = x_scale * w_scale / y_scale, in double           = mantissa * 2^(exponent - 31)
//   twice:  h = high half of 2 * (A * 2^max(exponent, 0)) * mantissa, rounded half up
//           y = h / 2^max(-exponent, 0), rounded half away from zero
//   once:   y = (A * mantissa + 2^(30 - exponent)) >> (31 - exponent)         rounded half up
#pragma once

#include <cstdint>

#include "reference/numerics/requantize.h"

namespace qconform::reference {

/// |mantissa| in [2^30, 2^31), or 0 where M is below 2^-32; exponent at least -31.
struct FixedPointMultiplier {
  std::int64_t mantissa;
  int exponent;
};

/// M in double, rounded to 31 bits, half away from zero: TensorFlow Lite's QuantizeMultiplier().
[[nodiscard]] FixedPointMultiplier fixed_point_multiplier(const Requantization& parameters);
/// Returns an M that was formed otherwise, finite, rounded to 31 bits, half away from zero.
[[nodiscard]] FixedPointMultiplier fixed_point_multiplier(double multiplier);

/// A * M rounded twice: MultiplyByQuantizedMultiplier(). Where |A * M| is 2^15 and more, what is returned is too, but
/// perhaps another number; the original's behaviour is undefined where A * 2^exponent leaves int32.
[[nodiscard]] std::int32_t multiply_rounding_twice(std::int32_t sum, const FixedPointMultiplier& multiplier);

/// A * M rounded once: the same with TFLITE_SINGLE_ROUNDING. Saturates to int32.
[[nodiscard]] std::int32_t multiply_rounding_once(std::int32_t sum, const FixedPointMultiplier& multiplier);

}  // namespace qconform::reference
