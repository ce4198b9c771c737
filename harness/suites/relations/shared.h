// Claims that several families make, in their words for all of them.
#pragma once

#include "harness/suites/relations/relation.h"

namespace qconform::relations {

inline constexpr Claim kXShift{Topic::signedness, "x-shift-128",
                               "x and its zero point moved by 128 into the other 8-bit type leave y as it is.",
                               "x enters as x - zero point only: exact in integers."};

inline constexpr Claim kYShift{Topic::signedness, "y-shift-128",
                               "With y's zero point moved by 128 into the other 8-bit type, y moves by 128.",
                               "The zero point is added to a rounded integer, and the range moves with it."};

inline constexpr Claim kScalesPowerOfTwo{
    Topic::scales, "scales-power-of-two",
    "Scales multiplied by a power of two on both sides of the quotient leave it as it is.",
    "Exact in real numbers, and in any fixed float expression too: a power of two moves the exponent only, as long "
    "as nothing over- or underflows."};

inline constexpr Claim kYZeroPointMoved{
    Topic::requantization, "y-zero-point-moved",
    "With a zero point one step further, y lies one step further, or stays saturated.",
    "The zero point is added after rounding (C19, Q2), whatever was rounded."};

/// The power of two.
inline constexpr float kScaleFactor = 8;
inline constexpr NotApplicable kFarScales{"a scale is so far from 1 that float32 might over- or underflow"};

/// Within it, and with a factor of 8 beside it, no association of the scales leaves the normal numbers.
[[nodiscard]] inline bool is_moderate(float scale) {
  return scale >= 0x1p-26F && scale <= 0x1p+26F;
}

}  // namespace qconform::relations
