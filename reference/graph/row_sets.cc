// Sets behind what looks at whole rows: Softmax and ArgMax.
#include "reference/graph/evaluation.h"

namespace qconform::reference::graph {
namespace {

// Element j of the row that output `first` belongs to.
struct Row {
  std::size_t first;
  std::size_t inner;
  [[nodiscard]] std::size_t at(std::int64_t j) const { return first + static_cast<std::size_t>(j) * inner; }
};

// The softmax of element j rises with its own x and falls with all others.
Interval softmax_at(const Softmax& step, const StepView& view, const Row& row, std::int64_t j) {
  const auto one_end = [&](bool is_low) {
    const Interval own = view.ends(0, row.at(j));
    const double x = is_low ? own.lo : own.hi;
    double sum = 1;
    for (std::int64_t k = 0; k < step.length; ++k) {
      if (k == j) continue;
      const Interval other = view.ends(0, row.at(k));
      sum += std::exp((is_low ? other.hi : other.lo) - x);
    }
    return 1 / sum;
  };
  return {one_end(true), one_end(false)};
}

double largest_distance(const Softmax& step, const StepView& view, const Row& row) {
  Interval all{kInfinity, -kInfinity};
  for (std::int64_t j = 0; j < step.length; ++j) all = hull(all, view.ends(0, row.at(j)));
  return all.hi - all.lo;
}

}  // namespace

Spread spread_of(const Softmax& step, const StepView& view) {
  Spread y(view.elements());
  const auto length = static_cast<std::size_t>(step.length);
  const auto inner = static_cast<std::size_t>(step.inner);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Row row{i / (length * inner) * length * inner + i % inner, inner};
    // Roundings: of the difference, which the exponential magnifies; of each exponential, the sum and the division.
    const double distance = largest_distance(step, view, row);
    if (!std::isfinite(distance)) {
      y.set(i, kOpen);
      continue;
    }
    const double slack = (static_cast<double>(length) + distance + 8) * std::ldexp(1, -view.bits());
    const auto position = static_cast<std::int64_t>(i / inner % length);
    const Interval real = softmax_at(step, view, row, position);
    const double absolute = 4 * std::ldexp(1, -view.bits());
    y.set(i,
          {std::max(0.0, real.lo * (1 - slack) - absolute), std::min(1 + absolute, real.hi * (1 + slack) + absolute)});
  }
  return y;
}

// Element j may be chosen where it can exceed all that win a tie against it, and reach the others.
Spread spread_of(const ArgMax& step, const StepView& view) {
  Spread y(view.elements());
  y.members.resize(y.size());
  const auto length = static_cast<std::size_t>(step.length);
  const auto inner = static_cast<std::size_t>(step.inner);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Row row{i / inner * length * inner + i % inner, inner};
    const auto best = [&](std::int64_t j) {
      const Interval x = view.ends(0, row.at(j));
      return step.smallest ? Interval{-x.hi, -x.lo} : x;
    };
    for (std::int64_t j = 0; j < step.length; ++j) {
      bool is_possible = true;
      for (std::int64_t k = 0; k < step.length && is_possible; ++k) {
        if (k == j) continue;
        const bool wins_tie = step.select_last_index ? k > j : k < j;
        is_possible = wins_tie ? best(j).hi > best(k).lo : best(j).hi >= best(k).lo;
      }
      if (is_possible) y.members[i].push_back(j);
    }
    y.set(i, {static_cast<double>(y.members[i].front()), static_cast<double>(y.members[i].back())});
  }
  return y;
}

}  // namespace qconform::reference::graph
