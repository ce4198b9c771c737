// Classes of zero points of any integer type.
#pragma once

#include <cstdint>

#include "harness/core/tensor.h"
#include "harness/model/draws/rng.h"

namespace qconform::sweep {

struct Range {
  std::int64_t lo;
  std::int64_t hi;
};

/// Returns the range of an integer type of at most 32 bits.
[[nodiscard]] Range range_of(ElementType type);

/// Returns the class of a zero point: 0 the low end, 1 the middle (0, or half the range of an unsigned type), 2 the
/// high end, 3 another.
[[nodiscard]] std::uint8_t zero_point_class(ElementType type, std::int64_t value);

/// A value of one of these four classes.
[[nodiscard]] std::int64_t draw_zero_point(Rng& rng, ElementType type, std::uint8_t zero_point);

}  // namespace qconform::sweep
