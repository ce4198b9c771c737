// Products and quotients of floats, exactly, and their one rounding; ties.
#pragma once

#include <cstdint>

#include "reference/numerics/wide_integer.h"

namespace qconform::reference {

/// (negative ? -1 : 1) * numerator / denominator * 2^exponent. numerator < 2^106, denominator in
/// [1, 2^53). A zero has numerator 0 and keeps its sign.
struct Ratio {
  bool negative = false;
  uint128 numerator = 0;
  std::uint64_t denominator = 1;
  int exponent = 0;

  [[nodiscard]] bool is_zero() const { return numerator == 0; }
};

/// Arguments are finite; the divisor is not zero. Signs of zeros follow IEEE 754.
[[nodiscard]] Ratio ratio_of(double value);
[[nodiscard]] Ratio product_of(double a, double b);
[[nodiscard]] Ratio quotient_of(double dividend, double divisor);

/// The e with 2^e <= |value| < 2^(e+1); `value` is not zero.
[[nodiscard]] int leading_exponent(const Ratio& value);

/// A magnitude as a number of units, rounded to nearest, ties to even.
struct RoundedMagnitude {
  std::uint64_t units;
  bool is_tie;          ///< the magnitude lay exactly between two integers
  std::uint64_t floor;  ///< the lower one of them
  bool is_whole;        ///< the magnitude is an integer
};

/// |value| / 2^unit, which must be below 2^63.
[[nodiscard]] RoundedMagnitude round_to_unit(const Ratio& value, int unit);

// How near a value comes to the middle between two integers, where rounding rules and roundings show.

enum class TieDistance : std::uint8_t {
  exact,  ///< half an odd integer
  near,   ///< within 1e-4 of one, but not on it
  far,    ///< neither, or so large that every 8-bit output saturates
};

/// Returns how far accumulator * x_scale * w_scale / y_scale is from a tie; finite scales, y_scale not 0, |accumulator|
/// < 2^47.
[[nodiscard]] TieDistance tie_distance(std::int64_t accumulator, float x_scale, float w_scale, float y_scale);

}  // namespace qconform::reference
