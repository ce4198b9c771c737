#include "harness/source/near_tie.h"

#include <cmath>
#include <cstdlib>

namespace qconform {
namespace {

// Two roundings to 53 bits: far below the 24 bits that are asked for.
double scaled(std::int64_t sum, float x_scale, float w_scale) {
  return static_cast<double>(std::abs(sum)) * (double{x_scale} * double{w_scale});
}

}  // namespace

float tie_scale(std::int64_t sum, float x_scale, float w_scale, double half) {
  return static_cast<float>(scaled(sum, x_scale, w_scale) / half);
}

bool is_near_tie(std::int64_t sum, float x_scale, float w_scale, float y_scale) {
  if (sum == 0) return false;
  const double value = scaled(sum, x_scale, w_scale) / double{y_scale};
  if (value >= 1024) return false;
  const double half = std::floor(value) + 0.5;
  return std::fabs(value - half) <= half * 0x1p-22;
}

}  // namespace qconform
