// Sets of integer products: their requantization, what DynamicQuantizeLinear computes, and TopK.
#include <algorithm>

#include "reference/graph/evaluation.h"
#include "reference/numerics/admissible.h"
#include "reference/numerics/round.h"

namespace qconform::reference::graph {
namespace {

AdmissibleSet requantized(std::int64_t sum, const Requantization& parameters, Tier tier) {
  if (tier == Tier::exact) return exact_set(sum, parameters);
  AdmissibleSet set = float_set(sum, parameters);
  if (tier == Tier::fused_fixed_point) set.include(fixed_point_set(sum, parameters));
  return set;
}

}  // namespace

// The sets of QLinearConv's tiers: E, F_5, and under fused-q31 Q31 too.
Spread spread_of(const Requantize& step, const StepView& view) {
  const Spread& x = *view.operands[0];
  Spread y(x.size());
  if (view.program.may_be_exact) y.unit = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Requantization& parameters = step.parameters[step.parameters.size() == 1 ? 0 : i];
    const Interval whole{static_cast<double>(parameters.y_range.lo), static_cast<double>(parameters.y_range.hi)};
    if (x.at(i).is_open()) {
      y.set(i, whole);
      continue;
    }
    const auto of = [&](double sum) {
      const AdmissibleSet set = requantized(static_cast<std::int64_t>(sum), parameters, view.tier);
      return Interval{static_cast<double>(set.smallest()), static_cast<double>(set.largest())};
    };
    const bool may_wrap = x.lo[i] < -0x1p31 || x.hi[i] >= 0x1p31;
    y.set(i, may_wrap && x.lo[i] < x.hi[i] ? whole : hull(of(x.lo[i]), of(x.hi[i])));
  }
  return y;
}

Interval wrapped_to_32_bits(Interval x) {
  constexpr Interval kAll{-0x1p31, 0x1p31 - 1};
  if (!std::isfinite(x.lo) || !std::isfinite(x.hi)) return kAll;
  const double lo = std::floor((x.lo + 0x1p31) / 0x1p32);
  const double hi = std::floor((x.hi + 0x1p31) / 0x1p32);
  return lo == hi ? Interval{x.lo - lo * 0x1p32, x.hi - hi * 0x1p32} : kAll;
}

// (largest - least) / 255. All x = 0 leave the scale open, and a subnormal one: both can hold any number from 0 on.
Interval dynamic_scale(Interval largest, Interval least, const StepView& view) {
  const Interval range = view.rounded({below(largest.lo - least.hi), above(largest.hi - least.lo)});
  if (range.is_open()) return kOpen;
  if (range.lo < 255 * 0x1p-126) return {0, 0x1p127};
  const Interval scale = view.rounded({below(range.lo / 255), above(range.hi / 255)});
  // 1/255 has a rounding of its own, and its product.
  const double slack = view.carries_chain() ? 3 * std::ldexp(1, -view.bits()) : 0;
  return {scale.lo * (1 - slack), scale.hi * (1 + slack)};
}

// rne(quotient) + zero point, saturated: rising in both.
Interval rounded_and_saturated(Interval quotient, Interval zero_point, ElementType type) {
  const IntegerRange range = range_of(type);
  const auto clamped = [&](double end, double zero) {
    if (std::isnan(end + zero)) return static_cast<double>(range.lo);
    const double integer = std::fabs(end) < 0x1p40 ? round_half_even(end) : end;
    return std::clamp(integer + zero, static_cast<double>(range.lo), static_cast<double>(range.hi));
  };
  if (quotient.is_open() || zero_point.is_open()) {
    return {static_cast<double>(range.lo), static_cast<double>(range.hi)};
  }
  return {clamped(quotient.lo, zero_point.lo), clamped(quotient.hi, zero_point.hi)};
}

namespace {

// A row of TopK, with the smallest elements as the largest of their opposites.
class TopRow {
 public:
  TopRow(const TopK& step, const StepView& view, std::size_t first) {
    for (std::int64_t j = 0; j < step.length; ++j) {
      const Interval x = view.ends(0, first + static_cast<std::size_t>(j * step.inner));
      elements_.push_back(step.smallest ? Interval{-x.hi, -x.lo} : x);
    }
  }

  // Whether element `a` stands before `b` in every answer: of equal ones the lower index is first.
  [[nodiscard]] bool precedes(std::size_t a, std::size_t b) const {
    return elements_[a].lo > elements_[b].hi || (elements_[a].lo == elements_[b].hi && a < b);
  }
  // The places that each element may have.
  [[nodiscard]] bool may_be(std::size_t element, std::size_t place) const {
    std::size_t before = 0;
    std::size_t behind = 0;
    for (std::size_t other = 0; other < elements_.size(); ++other) {
      if (other == element) continue;
      before += precedes(other, element) ? 1 : 0;
      behind += precedes(element, other) ? 1 : 0;
    }
    return before <= place && place + behind < elements_.size();
  }
  [[nodiscard]] Interval at(std::size_t place) const {
    std::vector<double> lo;
    std::vector<double> hi;
    for (const Interval& element : elements_) {
      lo.push_back(element.lo);
      hi.push_back(element.hi);
    }
    std::sort(lo.begin(), lo.end(), std::greater<>());
    std::sort(hi.begin(), hi.end(), std::greater<>());
    return {lo[place], hi[place]};
  }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }

 private:
  std::vector<Interval> elements_;
};

void set_top(const TopK& step, const TopRow& row, std::size_t place, std::size_t i, Spread& y) {
  const auto last = static_cast<std::size_t>(step.k) - 1;
  // Unsorted, each of the k stands anywhere among them.
  const std::size_t from = step.sorted ? place : 0;
  const std::size_t to = step.sorted ? place : last;
  if (!step.indices) {
    const Interval found{row.at(to).lo, row.at(from).hi};
    y.set(i, step.smallest ? Interval{-found.hi, -found.lo} : found);
    return;
  }
  for (std::size_t element = 0; element < row.size(); ++element) {
    bool is_possible = false;
    for (std::size_t at = from; at <= to && !is_possible; ++at) is_possible = row.may_be(element, at);
    if (is_possible) y.members[i].push_back(static_cast<std::int64_t>(element));
  }
  y.set(i, {static_cast<double>(y.members[i].front()), static_cast<double>(y.members[i].back())});
}

}  // namespace

Spread spread_of(const TopK& step, const StepView& view) {
  Spread y(view.elements());
  if (!step.indices) y.unit = view.operands[0]->unit;
  if (step.indices) y.members.resize(y.size());
  const auto k = static_cast<std::size_t>(step.k);
  const auto inner = static_cast<std::size_t>(step.inner);
  const auto length = static_cast<std::size_t>(step.length);
  if (y.size() == 0) return y;
  for (std::size_t outer = 0; outer < y.size() / (k * inner); ++outer) {
    for (std::size_t j = 0; j < inner; ++j) {
      const TopRow row(step, view, outer * length * inner + j);
      for (std::size_t place = 0; place < k; ++place) set_top(step, row, place, (outer * k + place) * inner + j, y);
    }
  }
  return y;
}

}  // namespace qconform::reference::graph
