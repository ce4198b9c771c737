// Rounding to the nearest integer, ties to even, independent of the processor's rounding mode.
#pragma once

#include <cmath>

namespace qconform::reference {

/// rne(value). NaN and infinities come back as they are; the sign of zero is not kept.
/// Works for float and double: `value - trunc(value)` is exact in binary floating point.
template <typename Float>
[[nodiscard]] Float round_half_even(Float value) {
  const Float whole = std::trunc(value);
  const Float fraction = std::fabs(value - whole);
  if (!(fraction >= Float{0.5})) return whole;
  const Float away = whole + std::copysign(Float{1}, value);
  if (fraction > Float{0.5}) return away;
  const bool whole_is_even = std::trunc(whole / 2) * 2 == whole;
  return whole_is_even ? whole : away;
}

}  // namespace qconform::reference
