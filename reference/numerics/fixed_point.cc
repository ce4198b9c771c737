#include "reference/numerics/fixed_point.h"

#include <algorithm>
#include <cmath>

#include "reference/numerics/saturate.h"

namespace qconform::reference {
namespace {

constexpr IntegerRange kInt32{INT32_MIN, INT32_MAX};
constexpr std::int64_t kOne = std::int64_t{1} << 31;  // 1 as a mantissa

std::int32_t to_int32(std::int64_t value) {
  return saturate(value, kInt32);
}

}  // namespace

FixedPointMultiplier fixed_point_multiplier(const Requantization& p) {
  return fixed_point_multiplier(static_cast<double>(p.x_scale) * static_cast<double>(p.w_scale) /
                                static_cast<double>(p.y_scale));
}

FixedPointMultiplier fixed_point_multiplier(double multiplier) {
  FixedPointMultiplier result{};
  result.mantissa = static_cast<std::int64_t>(std::round(std::frexp(multiplier, &result.exponent) * 0x1p31));
  if (result.mantissa == kOne || result.mantissa == -kOne) {
    result.mantissa /= 2;
    ++result.exponent;
  }
  if (result.exponent < -31) return {0, 0};
  return result;
}

std::int32_t multiply_rounding_twice(std::int32_t sum, const FixedPointMultiplier& multiplier) {
  const std::int64_t left = std::int64_t{1} << std::clamp(multiplier.exponent, 0, 16);
  const std::int64_t product = to_int32(sum * left) * multiplier.mantissa;
  const std::int64_t nudge = product >= 0 ? kOne / 2 : 1 - kOne / 2;
  const std::int64_t high = (product + nudge) / kOne;
  const int shift = std::max(0, -multiplier.exponent);
  const std::int64_t mask = (std::int64_t{1} << shift) - 1;
  const std::int64_t threshold = mask / 2 + (high < 0 ? 1 : 0);
  return to_int32((high >> shift) + ((high & mask) > threshold ? 1 : 0));
}

std::int32_t multiply_rounding_once(std::int32_t sum, const FixedPointMultiplier& multiplier) {
  const std::int64_t product = sum * multiplier.mantissa;
  const int shift = 31 - multiplier.exponent;
  if (shift <= 0) return product == 0 ? 0 : product > 0 ? INT32_MAX : INT32_MIN;
  return to_int32((product + (std::int64_t{1} << (shift - 1))) >> shift);
}

}  // namespace qconform::reference
