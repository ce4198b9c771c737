#include "reports/gate/share.h"

#include <algorithm>
#include <cmath>

namespace qconform::gate {
namespace {

// ln(n over k)
double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

}  // namespace

double chance_of_at_least(const Share& before, const Share& now) {
  const auto all = static_cast<double>(before.whole + now.whole);
  const auto whole = static_cast<double>(now.whole);
  const auto marked = static_cast<double>(before.part + now.part);
  const double most = std::min(marked, whole);
  const double total = log_choose(all, marked);
  double sum = 0;
  // From `now.part` upwards the terms grow until the mode and fall behind it.
  for (auto k = static_cast<double>(now.part); k <= most; ++k) {
    if (marked - k > all - whole) continue;
    const double term = std::exp(log_choose(whole, k) + log_choose(all - whole, marked - k) - total);
    sum += term;
    if (k > marked * whole / all && term < sum * 1e-15) break;
  }
  return std::min(sum, 1.0);
}

Trend trend(const Share& before, const Share& now, bool same_cases) {
  if (same_cases || before.whole == 0 || now.whole == 0) {
    return now.part > before.part ? Trend::higher : now.part < before.part ? Trend::lower : Trend::same;
  }
  if (chance_of_at_least(before, now) < kChance) return Trend::higher;
  if (chance_of_at_least(now, before) < kChance) return Trend::lower;
  return Trend::same;
}

}  // namespace qconform::gate
