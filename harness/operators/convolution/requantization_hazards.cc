#include "harness/operators/convolution/requantization_hazards.h"

#include <cmath>

#include "reference/numerics/admissible.h"

namespace qconform {
namespace {

// Four float32 roundings, each of at most 2^-24 relative.
constexpr double kFloatRoundings = 0x1p-22;
constexpr std::int32_t kLargeBias = 1 << 29;

bool is_subnormal(float scale) {
  return std::fpclassify(scale) == FP_SUBNORMAL;
}

}  // namespace

RequantizationHazards::RequantizationHazards(const reference::Requantization& p, std::int32_t bias)
    : rounding_(p.y_range, p.y_zero_point),
      large_multiplier_(std::fabs(static_cast<double>(p.x_scale) * p.w_scale) >=
                        0x1p20 * std::fabs(static_cast<double>(p.y_scale))),
      subnormal_scale_(is_subnormal(p.x_scale) || is_subnormal(p.w_scale) || is_subnormal(p.y_scale)),
      outside_domain_(!within_domain(p)),
      bias_beyond_float_(!is_float(bias)),
      bias_near_limit_(bias >= kLargeBias || bias <= -kLargeBias),
      odd_parameters_(large_multiplier_ || subnormal_scale_ || outside_domain_ || bias_beyond_float_ ||
                      bias_near_limit_) {}

void RequantizationHazards::count_tie(double value, reference::TieDistance distance, HazardCounts& counts) const {
  switch (distance) {
    case reference::TieDistance::exact: return rounding_.count_tie(value, counts);
    case reference::TieDistance::near: return rounding_.count_near_tie(value, kFloatRoundings, counts);
    case reference::TieDistance::far: break;
  }
}

void RequantizationHazards::count_parameters(std::int64_t sum, HazardCounts& counts) const {
  if (bias_beyond_float_) counts.add(Hazard::bias_beyond_float);
  if (bias_near_limit_) counts.add(Hazard::bias_near_limit);
  if (sum == 0) return;
  if (large_multiplier_) counts.add(Hazard::large_multiplier);
  if (subnormal_scale_) counts.add(Hazard::subnormal_scale);
  if (outside_domain_) counts.add(Hazard::scale_outside_domain);
}

}  // namespace qconform
