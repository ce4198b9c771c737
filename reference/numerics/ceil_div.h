// Division that rounds up.
#pragma once

#include <cstdint>

namespace qconform::reference {

/// Returns the quotient of any numerator and a positive divisor, rounded up; nothing overflows.
constexpr std::int64_t ceil_div(std::int64_t numerator, std::int64_t positive) {
  return numerator / positive + (numerator % positive > 0 ? 1 : 0);
}

}  // namespace qconform::reference
