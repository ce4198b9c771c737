// Sets behind sums of products, and what moves or selects elements.
#include "reference/graph/evaluation.h"

namespace qconform::reference::graph {
namespace {

// An operand by middle, radius and magnitude.
struct Factors {
  std::vector<double> middle;
  std::vector<double> radius;  // empty: 0 everywhere
  std::vector<double> magnitude;
  bool is_open = false;

  explicit Factors(const Spread& spread) : middle(spread.size()), magnitude(spread.size()) {
    for (std::size_t i = 0; i < spread.size(); ++i) {
      magnitude[i] = spread.magnitude_at(i);
      middle[i] = spread.lo[i];
      if (spread.lo[i] == spread.hi[i]) continue;
      if (radius.empty()) radius.resize(spread.size());
      is_open = is_open || !std::isfinite(magnitude[i]);
      middle[i] = spread.lo[i] / 2 + spread.hi[i] / 2;
      radius[i] = above(std::max(spread.hi[i] - middle[i], middle[i] - spread.lo[i]));
    }
  }
  [[nodiscard]] double radius_of(std::size_t i) const { return radius.empty() ? 0 : radius[i]; }
};

struct Sum {
  double value = 0;
  double magnitude = 0;
  double radius = 0;
  std::int64_t terms = 0;
};

// The sum over the taps of one element; `b` is null where there is one factor only.
template <typename Kind>
Sum sum_of(const Kind& taps, std::int64_t output, const Factors& a, const Factors* b) {
  Sum sum;
  const bool is_determined = a.radius.empty() && (b == nullptr || b->radius.empty());
  taps.for_each(output, [&](std::int64_t at_a, std::int64_t at_b) {
    const auto i = static_cast<std::size_t>(at_a);
    const auto j = static_cast<std::size_t>(at_b);
    const double factor = b == nullptr ? 1 : b->middle[j];
    sum.value += a.middle[i] * factor;
    sum.magnitude += b == nullptr ? a.magnitude[i] : a.magnitude[i] * b->magnitude[j];
    ++sum.terms;
    if (is_determined) return;
    const double factor_radius = b == nullptr ? 0 : b->radius_of(j);
    sum.radius += std::fabs(a.middle[i]) * factor_radius + a.radius_of(i) * (std::fabs(factor) + factor_radius);
  });
  return sum;
}

// The chain behind an operand: a DQ's own rounding is among the five of every chain.
int terms_behind(const Spread& operand) {
  return operand.terms > 1 ? operand.terms : 0;
}

struct Chain {
  int terms;
  int extra;
};

Chain chain_of(const WeightedSum& step, const StepView& view, std::int64_t most_terms) {
  Chain chain{static_cast<int>(std::min<std::int64_t>(most_terms, 1 << 28)), 0};
  int behind = 0;
  for (const Spread* operand : view.operands) {
    behind = std::max(behind, terms_behind(*operand));
    chain.extra = std::max(chain.extra, operand->extra + (operand->terms > 1 ? 1 : 0));
  }
  chain.terms += behind;
  chain.extra += (step.alpha != 1 ? 1 : 0) + (step.beta != 1 ? 1 : 0) + (step.divisor.empty() ? 0 : 1);
  return chain;
}

// Counts the roundings of a term: those of both factors, its product, the additions, alpha, the bias and the divisor.
int roundings_of(const WeightedSum& step, const StepView& view, int terms) {
  int product = view.operands[0]->roundings() + terms + (step.alpha != 1 ? 1 : 0);
  if (step.has_factor) product += view.operands[1]->roundings();
  int most = product;
  if (!step.c_index.empty()) {
    const int bias = view.operands.back()->roundings() + (step.beta != 1 ? 1 : 0);
    most = std::max(product, bias) + 1;
  }
  return most + (step.divisor.empty() ? 0 : 1);
}

std::optional<int> unit_of(const WeightedSum& step, const StepView& view) {
  if (!view.program.may_be_exact) return std::nullopt;
  const double factors[] = {step.alpha, step.beta};
  std::optional<int> unit = view.operands[0]->unit;
  if (step.has_factor && unit) unit = view.operands[1]->unit ? std::optional(*unit + *view.operands[1]->unit) : unit;
  if (step.has_factor && !view.operands[1]->unit) return std::nullopt;
  if (!step.c_index.empty()) unit = finer(unit, view.operands.back()->unit);
  if (!unit) return std::nullopt;
  int divided = 0;
  for (const std::int32_t divisor : step.divisor) {
    if (divisor > 1)
      divided = std::max(divided, static_cast<int>(std::bit_width(static_cast<std::uint32_t>(divisor - 1))));
  }
  return *unit + std::min(0, finest_unit(factors).value_or(0)) - divided;
}

template <typename Kind>
std::vector<Sum> sums_of(const Kind& taps, std::size_t elements, const Factors& a, const Factors* b) {
  std::vector<Sum> sums(elements);
  for (std::size_t i = 0; i < elements; ++i) sums[i] = sum_of(taps, static_cast<std::int64_t>(i), a, b);
  return sums;
}

void finish(const WeightedSum& step, std::size_t i, const Factors* c, Sum& sum) {
  sum.value *= step.alpha;
  sum.magnitude *= std::fabs(step.alpha);
  sum.radius *= std::fabs(step.alpha);
  if (c != nullptr) {
    const auto at = static_cast<std::size_t>(step.c_index[i]);
    sum.value += step.beta * c->middle[at];
    sum.magnitude += std::fabs(step.beta) * c->magnitude[at];
    sum.radius += std::fabs(step.beta) * c->radius_of(at);
  }
  if (!step.divisor.empty()) {
    sum.value /= step.divisor[i];
    sum.magnitude /= step.divisor[i];
    sum.radius /= step.divisor[i];
  }
}

}  // namespace

Spread spread_of(const WeightedSum& step, const StepView& view) {
  const Factors a(*view.operands[0]);
  const std::optional<Factors> b = step.has_factor ? std::optional<Factors>(*view.operands[1]) : std::nullopt;
  std::optional<Factors> c;
  if (!step.c_index.empty()) {
    const bool is_fused = view.tier >= Tier::fused_int8;
    c = is_fused ? Factors(with_fused_bias(step, view)) : Factors(*view.operands.back());
  }
  std::vector<Sum> sums =
      std::visit([&](const auto& taps) { return sums_of(taps, view.elements(), a, b ? &*b : nullptr); }, step.taps);
  std::int64_t most_terms = 1;
  for (const Sum& sum : sums) most_terms = std::max(most_terms, sum.terms);

  const Chain chain = chain_of(step, view, most_terms);
  const bool is_whole = is_integer(view.result().type);
  const bool carries_chain = view.carries_chain() && !is_whole;
  Spread y(sums.size());
  y.unit = unit_of(step, view);
  if (carries_chain) {
    y.magnitude.resize(sums.size());
    y.terms = std::max(2, chain.terms);  // a sum of one term is a chain too
    y.extra = chain.extra - (y.terms - chain.terms);
    y.count_roundings(roundings_of(step, view, static_cast<int>(std::min<std::int64_t>(most_terms, 1 << 28))));
  }
  const int bits = view.tier == Tier::float32_sums ? std::max(24, view.bits()) : view.bits();
  const double unity = std::ldexp(1, bits);
  const double smallest = std::ldexp(1, smallest_exponent(bits));
  // Bounds the roundings of the node's own operations in every association: a product, the additions, the factors alpha
  // and beta, and the divisor.
  const double m = static_cast<double>(most_terms) + (c ? 1 : 0) + (step.alpha != 1 ? 1 : 0) +
                   (step.beta != 1 ? 1 : 0) + (step.divisor.empty() ? 0 : 1);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    finish(step, i, c ? &*c : nullptr, sums[i]);
    const Sum& sum = sums[i];
    if (!std::isfinite(sum.magnitude) || sum.magnitude >= overflow_of(view.result().type) || m >= unity) {
      y.set(i, kOpen);
      if (carries_chain) y.magnitude[i] = kInfinity;
      continue;
    }
    if (carries_chain) y.magnitude[i] = sum.magnitude;
    const bool is_exact_sum = y.is_exact_sum(sum.magnitude, view.bits());
    if (sum.radius == 0 && (is_exact_sum || sum.magnitude == 0 || (is_whole && sum.magnitude < 0x1p53))) {
      y.set(i, {sum.value, sum.value});
      continue;
    }
    // The radius takes in the roundings of the doubles here, those below the smallest normal number, and the node's own
    // where it is read as written.
    double radius = sum.radius * (1 + 0x1p-40) + (static_cast<double>(sum.terms) + 6) * 0x1p-52 * sum.magnitude;
    if (view.tier != Tier::exact) radius += (2 * m + 4) * smallest;
    if (carries_chain || view.tier == Tier::exact) {
      y.set(i, {sum.value - radius, sum.value + radius});
      if (carries_chain) view.open_beyond_range(y, i);
      continue;
    }
    radius += m / (unity - m) * sum.magnitude * (1 + 0x1p-40);
    y.set(i, view.rounded({sum.value - radius, sum.value + radius}));
  }
  return y;
}

Spread spread_of(const Extreme& step, const StepView& view) {
  Spread y(view.elements());
  y.unit = view.operands[0]->unit;
  const auto over = [&](const auto& taps) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      // The largest of no taps is minus infinity.
      Interval found = step.smallest ? Interval{kInfinity, kInfinity} : Interval{-kInfinity, -kInfinity};
      bool is_open = false;
      taps.for_each(static_cast<std::int64_t>(i), [&](std::int64_t at, std::int64_t) {
        const Interval x = view.ends(0, static_cast<std::size_t>(at));
        is_open = is_open || x.is_open();
        found = step.smallest ? Interval{std::min(found.lo, x.lo), std::min(found.hi, x.hi)}
                              : Interval{std::max(found.lo, x.lo), std::max(found.hi, x.hi)};
      });
      y.set(i, is_open ? kOpen : found);
    }
  };
  std::visit(over, step.taps);
  return y;
}

Spread spread_of(const Move& step, const StepView& view) {
  Spread y(view.elements());
  y.is_stated = true;
  y.unit = view.program.may_be_exact ? std::optional(1024) : std::nullopt;
  bool carries_chain = false;
  for (const Spread* operand : view.operands) {
    y.terms = std::max(y.terms, operand->terms);
    y.extra = std::max(y.extra, operand->extra);
    y.unit = finer(y.unit, operand->unit);
    y.is_stated = y.is_stated && operand->is_stated;
    carries_chain = carries_chain || !operand->magnitude.empty();
  }
  if (carries_chain) y.magnitude.resize(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int32_t from = step.operand.empty() ? 0 : step.operand[i];
    if (from < 0) continue;
    const Spread& x = *view.operands[static_cast<std::size_t>(from)];
    const std::size_t at = step.index.empty() ? i : static_cast<std::size_t>(step.index[i]);
    y.set(i, x.at(at));
    if (!x.magnitude.empty()) y.magnitude[i] = x.magnitude[at];
  }
  return y;
}

}  // namespace qconform::reference::graph
