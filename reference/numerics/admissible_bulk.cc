#include "reference/numerics/admissible_bulk.h"

namespace qconform::reference {
namespace {

constexpr double kRelativeWidth = (5 + 0x1p-10) * 0x1p-24;  // G

}  // namespace

ChannelTest channel_test(const Requantization& p) {
  const double product = static_cast<double>(p.x_scale) * static_cast<double>(p.w_scale);
  const double lo = p.y_range.lo - p.y_zero_point;
  const double hi = p.y_range.hi - p.y_zero_point;
  return {.multiplier = product / static_cast<double>(p.y_scale),
          .lo = lo,
          .hi = hi,
          .margin = 0.5 - kRelativeWidth * std::max(-lo, hi),
          .zero_point = p.y_zero_point,
          .sign_flip = p.y_range.lo < 0 ? 0x80U : 0U,
          .within_domain = within_domain(p)};
}

}  // namespace qconform::reference
