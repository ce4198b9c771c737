#include "harness/model/sweep/zero_point.h"

namespace qconform::sweep {

Range range_of(ElementType type) {
  const std::int64_t values = std::int64_t{1} << bits_of(type);
  return is_signed_integer(type) ? Range{-values / 2, values / 2 - 1} : Range{0, values - 1};
}

std::uint8_t zero_point_class(ElementType type, std::int64_t value) {
  const auto [lo, hi] = range_of(type);
  if (value == lo) return 0;
  if (value == (lo + hi + 1) / 2) return 1;
  return value == hi ? 2 : 3;
}

std::int64_t draw_zero_point(Rng& rng, ElementType type, std::uint8_t zero_point) {
  const auto [lo, hi] = range_of(type);
  switch (zero_point) {
    case 0: return lo;
    case 1: return (lo + hi + 1) / 2;
    case 2: return hi;
    default: break;
  }
  // Every type has a value that is neither.
  for (;;) {
    const std::int64_t value = rng.between(lo, hi);
    if (zero_point_class(type, value) == 3) return value;
  }
}

}  // namespace qconform::sweep
