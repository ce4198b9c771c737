#include "harness/operators/convolution/corner_cases.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/numerics/admissible.h"

namespace qconform {
namespace {

// Four float32 roundings, each of at most 2^-24 relative.
constexpr double kFloatRoundings = 0x1p-22;
constexpr std::int32_t kLargeBias = 1 << 29;

bool is_subnormal(float scale) {
  return std::fpclassify(scale) == FP_SUBNORMAL;
}

// Whether the 31 bits that fixed-point kernels take of a normal multiplier round up to the next power of two: where the
// 30 bits behind the leading one, and the bit after them, are ones.
bool carries(double multiplier) {
  constexpr std::uint64_t kOnes = (std::uint64_t{1} << 31) - 1;
  return (std::bit_cast<std::uint64_t>(multiplier) >> (52 - 31) & kOnes) == kOnes;
}

}  // namespace

RequantizationCornerCases::RequantizationCornerCases(const reference::Requantization& p, const ChannelTraits& traits)
    : rounding_(p.y_range, p.y_zero_point),
      large_multiplier_(std::fabs(static_cast<double>(p.x_scale) * p.w_scale) >=
                        0x1p20 * std::fabs(static_cast<double>(p.y_scale))),
      subnormal_scale_(is_subnormal(p.x_scale) || is_subnormal(p.w_scale) || is_subnormal(p.y_scale)),
      outside_domain_(!within_domain(p)),
      bias_beyond_float_(!is_float(traits.bias.value_or(0))),
      bias_near_limit_(traits.bias.value_or(0) >= kLargeBias || traits.bias.value_or(0) <= -kLargeBias),
      odd_parameters_(large_multiplier_ || subnormal_scale_ || outside_domain_ || bias_beyond_float_ ||
                      bias_near_limit_),
      multiplier_(static_cast<double>(p.x_scale) * p.w_scale / p.y_scale),
      carries_(carries(multiplier_)),
      has_bias_(traits.bias.has_value()),
      has_extreme_zero_points_(traits.has_extreme_zero_points),
      // With less, no unit of a sum shows on both of its sides.
      tells_more_inside_(has_extreme_zero_points_ || carries_ || std::fabs(multiplier_) >= 0.5) {}

void RequantizationCornerCases::count_tie(double value, reference::TieDistance distance,
                                          CornerCaseCounts& counts) const {
  switch (distance) {
    case reference::TieDistance::exact: return rounding_.count_tie(value, counts);
    case reference::TieDistance::near: return rounding_.count_near_tie(value, kFloatRoundings, counts);
    case reference::TieDistance::far: break;
  }
}

void RequantizationCornerCases::count_parameters(std::int64_t sum, CornerCaseCounts& counts) const {
  if (bias_beyond_float_) counts.add(CornerCase::bias_beyond_float);
  if (bias_near_limit_) counts.add(CornerCase::bias_near_limit);
  if (sum == 0) return;
  if (large_multiplier_) counts.add(CornerCase::large_multiplier);
  if (subnormal_scale_) counts.add(CornerCase::subnormal_scale);
  if (outside_domain_) counts.add(CornerCase::scale_outside_domain);
}

void RequantizationCornerCases::count_inside(std::int64_t sum, double value, CornerCaseCounts& counts) const {
  if (has_extreme_zero_points_) counts.add(CornerCase::extreme_zero_points);
  const double truncated = static_cast<double>(sum) * std::trunc(multiplier_);
  if (std::fabs(multiplier_) > 1 && std::fabs(value - truncated) > 0.5) counts.add(CornerCase::multiplier_above_one);
  const double less = value - multiplier_;
  const double more = value + multiplier_;
  const double rounded = std::nearbyint(value);
  if (carries_ && std::nearbyint(value / 2) != rounded) counts.add(CornerCase::multiplier_carry);
  const bool shows_units = rounding_.shows_rounding(less) && rounding_.shows_rounding(more) &&
                           std::nearbyint(less) != rounded && std::nearbyint(more) != rounded;
  if (!shows_units) return;
  counts.add(CornerCase::small_sum);
  if (!has_bias_) counts.add(CornerCase::small_sum_without_bias);
}

}  // namespace qconform
