#include "reference/numerics/tie.h"

#include <cmath>

#include "reference/numerics/exact_scale.h"
#include "reference/numerics/round_quotient.h"

namespace qconform::reference {
namespace {

constexpr double kNear = 1e-4;

// Only on a tie do the rules for ties differ.
bool is_exact_tie(const ExactScale& scale, std::uint64_t magnitude) {
  const uint128 numerator = uint128{magnitude} * scale.numerator;
  const uint128 divisor = scale.denominator;
  return round_quotient(numerator, divisor, scale.exponent, Ties::toward_zero) !=
         round_quotient(numerator, divisor, scale.exponent, Ties::away_from_zero);
}

}  // namespace

TieDistance tie_distance(std::int64_t accumulator, float x_scale, float w_scale, float y_scale) {
  const double multiplier = static_cast<double>(x_scale) * w_scale / y_scale;
  const double magnitude = std::fabs(static_cast<double>(accumulator) * multiplier);
  if (!(magnitude < kSaturatedMagnitude)) return TieDistance::far;
  // In double the error is far below kNear, so that no exact tie is missed.
  const double fraction = magnitude - std::floor(magnitude);
  if (std::fabs(fraction - 0.5) > kNear) return TieDistance::far;
  return is_exact_tie(exact_scale(x_scale, w_scale, y_scale), magnitude_of(accumulator)) ? TieDistance::exact
                                                                                         : TieDistance::near;
}

}  // namespace qconform::reference
