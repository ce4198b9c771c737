#include "reference/kernels/requantize_fast.h"

#include <bit>

#include "reference/numerics/floats.h"

namespace qconform::reference {
namespace {

constexpr double kNeedsExactFrom = 0.5 - 0x1p-32;
constexpr double kNeverNeedsExact = 1;    // |p - rne(p)| is at most one half
constexpr int kExactMultiplierBits = 21;  // 53 less the 32 of the accumulator

constexpr float kNarrowNeedsExactFrom = 0.5F - 0x1p-13F;
constexpr float kAlwaysNeedsExact = -1;

int significant_bits(std::uint64_t value) {
  return value == 0 ? 0 : static_cast<int>(std::bit_width(value)) - std::countr_zero(value);
}

// Whether every product of a 32-bit integer with sx*sw/sy fits a double.
bool multiplies_exactly(const Requantization& p) {
  const std::uint64_t product = std::uint64_t{parts_of(p.x_scale).mantissa} * parts_of(p.w_scale).mantissa;
  return significant_bits(parts_of(p.y_scale).mantissa) == 1 && significant_bits(product) <= kExactMultiplierBits;
}

// Whether sx*sw/sy is plus or minus a power of two.
bool is_power_of_two(const Requantization& p) {
  const std::uint64_t product = std::uint64_t{parts_of(p.x_scale).mantissa} * parts_of(p.w_scale).mantissa;
  return significant_bits(parts_of(p.y_scale).mantissa) == 1 && significant_bits(product) == 1;
}

}  // namespace

FastRequantization fast_requantization(const Requantization& p) {
  const double product = static_cast<double>(p.x_scale) * static_cast<double>(p.w_scale);
  const double multiplier = product / static_cast<double>(p.y_scale);
  const double magnitude = multiplier < 0 ? -multiplier : multiplier;
  const bool is_ordinary = magnitude >= 0x1p-100 && magnitude <= 0x1p60;
  const bool is_exact = is_ordinary && magnitude >= 0x1p-15 && is_power_of_two(p);
  return {.multiplier = multiplier,
          .needs_exact_from = multiplies_exactly(p) ? kNeverNeedsExact : kNeedsExactFrom,
          .narrow_multiplier = is_ordinary ? static_cast<float>(multiplier) : 0,
          .narrow_needs_exact_from = is_exact      ? static_cast<float>(kNeverNeedsExact)
                                     : is_ordinary ? kNarrowNeedsExactFrom
                                                   : kAlwaysNeedsExact,
          .float_multiplier = float_multiplier(p),
          .zero_point = p.y_zero_point,
          .lo = p.y_range.lo,
          .hi = p.y_range.hi};
}

bool takes_fixed_point(const FastRequantization& channel, double largest) {
  constexpr double kLimit = 0x1p15 - 0x1p9;
  const double magnitude = channel.multiplier < 0 ? -channel.multiplier : channel.multiplier;
  return channel.narrow_needs_exact_from == kNarrowNeedsExactFrom && largest * magnitude < kLimit;
}

}  // namespace qconform::reference
