// Sets behind normalizations: each element of a row less the row's mean, over the root of its variance.
#include "reference/graph/evaluation.h"

namespace qconform::reference::graph {
namespace {

constexpr double kSmallestNormal = 0x1p-126;  // of float32
constexpr double kSmallest = 0x1p-149;

// The mean and variance of a row. Sums of doubles are far closer than those that they bound here.
struct RowMoments {
  Interval mean{0, 0};
  Interval variance{0, 0};  // with epsilon
};

Interval square(Interval x) {
  const double lo = x.lo * x.lo;
  const double hi = x.hi * x.hi;
  const bool holds_zero = x.lo <= 0 && x.hi >= 0;
  return {holds_zero ? 0 : below(std::min(lo, hi)), above(std::max(lo, hi))};
}

Interval widened(Interval x, double radius) {
  return {below(x.lo - radius), above(x.hi + radius)};
}

// The row's mean, which is 0 where it is not centred. `radius`: what n additions and a division round.
Interval mean_of(const StepView& view, std::size_t first, std::size_t length, double unit) {
  Interval sum{0, 0};
  double magnitude = 0;
  for (std::size_t k = first; k < first + length; ++k) {
    const Interval x = view.ends(0, k);
    sum = {sum.lo + x.lo, sum.hi + x.hi};
    magnitude += std::max(std::fabs(x.lo), std::fabs(x.hi));
  }
  const auto n = static_cast<double>(length);
  const double rounding = (n + 1) * unit + n * 0x1p-52;
  return widened({sum.lo / n, sum.hi / n}, magnitude / n * rounding);
}

// Holds both readings: the mean of squared differences, and the mean of squares less the squared mean, which ONNX's
// function body has and which cancels. Nothing where that leaves less than half of the variance, and where a sum of
// squares may overflow: float32 holds them for all types but float64. A square that is no normal number there may be
// flushed to 0.
std::optional<RowMoments> moments_of(const Normalize& step, const StepView& view, std::size_t first) {
  const auto length = static_cast<std::size_t>(step.length);
  const auto n = static_cast<double>(length);
  const double unit = view.tier == Tier::exact ? 0 : std::ldexp(1, -view.bits());
  const bool is_narrow = view.tier != Tier::exact && view.result().type != ElementType::float64;
  RowMoments moments;
  if (step.centred) moments.mean = mean_of(view, first, length, unit);
  Interval squares{0, 0};
  double raw = 0;
  for (std::size_t k = first; k < first + length; ++k) {
    const Interval x = view.ends(0, k);
    if (x.is_open()) return std::nullopt;
    const Interval difference =
        widened({x.lo - moments.mean.hi, x.hi - moments.mean.lo}, unit * std::max(std::fabs(x.lo), std::fabs(x.hi)));
    Interval squared = square(step.centred ? difference : x);
    if (is_narrow && squared.lo < kSmallestNormal) squared = {0, squared.hi + kSmallest};
    squares = {squares.lo + squared.lo, squares.hi + squared.hi};
    raw += square(x).hi;
  }
  if (is_narrow && std::max(raw, squares.hi) >= overflow_of(ElementType::float32)) return std::nullopt;
  const double rounding = (n + 3) * unit + n * 0x1p-52;
  Interval variance{squares.lo / n * (1 - rounding), squares.hi / n * (1 + rounding)};
  if (step.centred && view.carries_chain()) {
    const double mean = std::max(std::fabs(moments.mean.lo), std::fabs(moments.mean.hi));
    const double cancelled = (n + 4) / (std::ldexp(1, view.bits()) - n - 4) * (raw / n + mean * mean);
    if (cancelled > (variance.lo + step.epsilon) / 2) return std::nullopt;
    variance = widened(variance, cancelled);
  }
  moments.variance = widened({variance.lo + step.epsilon, variance.hi + step.epsilon}, unit * variance.hi);
  if (moments.variance.lo <= 0 || !std::isfinite(moments.variance.hi)) return std::nullopt;
  return moments;
}

}  // namespace

Spread spread_of(const Normalize& step, const StepView& view) {
  Spread y(view.elements());
  const auto length = static_cast<std::size_t>(step.length);
  const double unit = view.tier == Tier::exact ? 0 : std::ldexp(1, -view.bits());
  for (std::size_t first = 0; first < y.size(); first += length) {
    const auto moments = moments_of(step, view, first);
    for (std::size_t i = first; i < first + length; ++i) {
      if (!moments) {
        y.set(i, kOpen);
        continue;
      }
      const Interval x = view.ends(0, i);
      Interval difference{x.lo - moments->mean.hi, x.hi - moments->mean.lo};
      const double size = std::max(std::fabs(difference.lo), std::fabs(difference.hi));
      if (step.centred) difference = widened(difference, size * (unit + 0x1p-52));
      // A root, a quotient or a product with a reciprocal: four roundings at most, and those of the doubles here.
      const double slack = 4 * unit + 0x1p-50;
      const double least = std::sqrt(moments->variance.lo);
      const double most = std::sqrt(moments->variance.hi);
      const double lo = difference.lo < 0 ? difference.lo / least : difference.lo / most;
      const double hi = difference.hi < 0 ? difference.hi / most : difference.hi / least;
      y.set(i, view.within_range({lo - std::fabs(lo) * slack, hi + std::fabs(hi) * slack}));
      if (view.tier != Tier::exact) y.set(i, view.underflowed(y.at(i)));
    }
  }
  return y;
}

}  // namespace qconform::reference::graph
