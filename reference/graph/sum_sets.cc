// Sets behind sums of products, what moves or selects elements, Softmax and ArgMax, and units that are fused.

#include "reference/graph/evaluation.h"
#include "reference/graph/interpreter.h"

namespace qconform::reference::graph {
namespace {

// An operand by middle, radius and magnitude: a product of many terms needs fewer operations by these than by ends. The
// spread outlives it.
struct OperandFactors {
  std::span<const double> middle;  // the spread's own ends where each element is one number
  std::vector<double> radius;      // empty: 0 everywhere
  std::vector<double> magnitude;   // empty: that of the middle

  explicit OperandFactors(const Spread& spread) : middle(spread.lo) {
    const bool is_single = spread.lo == spread.hi;
    if (!spread.magnitude.empty() || !is_single) magnitude.resize(spread.size());
    for (std::size_t i = 0; i < magnitude.size(); ++i) magnitude[i] = spread.magnitude_at(i);
    if (is_single) return;
    middles_ = spread.lo;
    radius.resize(spread.size());
    for (std::size_t i = 0; i < spread.size(); ++i) {
      if (spread.lo[i] == spread.hi[i]) continue;
      middles_[i] = spread.lo[i] / 2 + spread.hi[i] / 2;
      radius[i] = above(std::max(spread.hi[i] - middles_[i], middles_[i] - spread.lo[i]));
    }
    middle = middles_;
  }
  explicit OperandFactors(Spread&&) = delete;
  OperandFactors(const OperandFactors&) = delete;
  OperandFactors& operator=(const OperandFactors&) = delete;
  [[nodiscard]] double radius_of(std::size_t i) const { return radius.empty() ? 0 : radius[i]; }
  [[nodiscard]] double magnitude_of(std::size_t i) const {
    return magnitude.empty() ? std::fabs(middle[i]) : magnitude[i];
  }

 private:
  std::vector<double> middles_;
};

struct SumBall {
  double value = 0;
  double magnitude = 0;
  double radius = 0;
  std::int64_t terms = 0;
  double largest = 0;  // of the magnitudes before alpha, the bias and the divisor and behind them
};

// The sum over the taps of one element; `b` is null where there is one factor only.
SumBall sum_of(const WeightedSum& step, std::size_t output, const OperandFactors& a, const OperandFactors* b) {
  SumBall sum;
  const bool is_determined = a.radius.empty() && (b == nullptr || b->radius.empty());
  step.for_each_term(output, [&](std::int64_t at_a, std::int64_t at_b) {
    const auto i = static_cast<std::size_t>(at_a);
    const auto j = static_cast<std::size_t>(at_b);
    const double factor = b == nullptr ? 1 : b->middle[j];
    sum.value += a.middle[i] * factor;
    sum.magnitude += a.magnitude_of(i) * (b == nullptr ? 1 : b->magnitude_of(j));
    ++sum.terms;
    if (is_determined) return;
    const double factor_radius = b == nullptr ? 0 : b->radius_of(j);
    sum.radius += std::fabs(a.middle[i]) * factor_radius + a.radius_of(i) * (std::fabs(factor) + factor_radius);
  });
  return sum;
}

// The sums of rows of a with the columns of b, which are neighbours there. b is read in its own order, so that caches
// hold what comes next; each sum takes its terms in the order that sum_of() has.
std::vector<SumBall> sums_of_rows(const MatrixTaps& taps, std::size_t elements, const OperandFactors& a,
                                  const OperandFactors& b) {
  const auto columns = static_cast<std::size_t>(taps.n);
  const bool is_determined = a.radius.empty() && b.radius.empty();
  std::vector<SumBall> sums(elements, SumBall{.terms = taps.k});
  taps.for_each_of_rows([&](std::int64_t row, std::int64_t at, std::int64_t from) {
    SumBall* const into = sums.data() + static_cast<std::size_t>(row) * columns;
    const auto i = static_cast<std::size_t>(at);
    const auto first = static_cast<std::size_t>(from);
    const double factor = a.middle[i];
    const double size = a.magnitude_of(i);
    for (std::size_t j = 0; j < columns; ++j) {
      into[j].value += factor * b.middle[first + j];
      into[j].magnitude += size * b.magnitude_of(first + j);
    }
    const double wide = a.radius_of(i);
    for (std::size_t j = 0; j < columns && !is_determined; ++j) {
      const double other = b.radius_of(first + j);
      into[j].radius += std::fabs(factor) * other + wide * (std::fabs(b.middle[first + j]) + other);
    }
  });
  return sums;
}

// The sums of every element of the result. `b` is null where there is one factor only.
std::vector<SumBall> sums_of(const WeightedSum& step, std::size_t elements, const OperandFactors& a,
                             const OperandFactors* b) {
  const MatrixTaps* product = step.whole_product();
  if (product != nullptr && product->b_column == 1) return sums_of_rows(*product, elements, a, *b);
  std::vector<SumBall> sums(elements);
  for (std::size_t i = 0; i < elements; ++i) sums[i] = sum_of(step, i, a, b);
  return sums;
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

void finish(const WeightedSum& step, std::size_t i, const OperandFactors* c, SumBall& sum) {
  sum.largest = sum.magnitude;
  sum.value *= step.alpha;
  sum.magnitude *= std::fabs(step.alpha);
  sum.radius *= std::fabs(step.alpha);
  if (c != nullptr) {
    const auto at = static_cast<std::size_t>(step.c_index[i]);
    sum.value += step.beta * c->middle[at];
    sum.magnitude += std::fabs(step.beta) * c->magnitude_of(at);
    sum.radius += std::fabs(step.beta) * c->radius_of(at);
  }
  sum.largest = std::max(sum.largest, sum.magnitude);
  if (!step.divisor.empty()) {
    sum.value /= step.divisor[i];
    sum.magnitude /= step.divisor[i];
    sum.radius /= step.divisor[i];
  }
}

}  // namespace

Spread spread_of(const WeightedSum& step, const StepView& view) {
  const OperandFactors a(*view.operands[0]);
  std::optional<OperandFactors> b;
  if (step.has_factor) b.emplace(*view.operands[1]);
  std::optional<Spread> fused_bias;
  std::optional<OperandFactors> c;
  if (!step.c_index.empty()) {
    if (view.tier >= Tier::fused_int8) fused_bias = with_fused_bias(step, view);
    c.emplace(fused_bias ? *fused_bias : *view.operands.back());
  }
  std::vector<SumBall> sums = sums_of(step, view.elements(), a, b ? &*b : nullptr);
  std::int64_t most_terms = 1;
  for (const SumBall& sum : sums) most_terms = std::max(most_terms, sum.terms);

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
    const SumBall& sum = sums[i];
    if (!std::isfinite(sum.magnitude) || sum.largest >= overflow_of(view.result().type) || m >= unity) {
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
  if (view.tier >= Tier::stated_accuracy && step.permits_narrow_activations())
    include_narrow_activations(step, view, y);
  return y;
}

Spread spread_of(const Extreme& step, const StepView& view) {
  Spread y(view.elements());
  y.unit = view.operands[0]->unit;
  for (std::size_t i = 0; i < y.size(); ++i) {
    // The largest of no taps is minus infinity.
    Interval found = step.smallest ? Interval{kInfinity, kInfinity} : Interval{-kInfinity, -kInfinity};
    bool is_open = false;
    step.for_each_term(i, [&](std::int64_t at, std::int64_t) {
      const Interval x = view.ends(0, static_cast<std::size_t>(at));
      is_open = is_open || x.is_open();
      found = step.smallest ? smaller(found, x) : larger(found, x);
    });
    y.set(i, is_open ? kOpen : found);
  }
  return y;
}

Spread spread_of(const Move& step, const StepView& view) {
  Spread y(view.elements());
  y.is_stated = true;
  y.unit = view.program.may_be_exact ? std::optional(1024) : std::nullopt;
  bool carries_chain = false;
  bool is_counted = true;
  int most = 0;
  for (const Spread* operand : view.operands) {
    is_counted = is_counted && operand->is_counted();
    most = std::max(most, operand->roundings());
    y.terms = std::max(y.terms, operand->terms);
    y.extra = std::max(y.extra, operand->extra);
    y.unit = finer(y.unit, operand->unit);
    y.is_stated = y.is_stated && operand->is_stated;
    carries_chain = carries_chain || !operand->magnitude.empty();
  }
  if (carries_chain) y.magnitude.resize(y.size());
  if (carries_chain && is_counted) y.counted = most;
  if (carries_chain && !is_counted && most > y.roundings()) y.count_roundings(most);
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

// Sets behind what looks at whole rows: Softmax and ArgMax.

namespace {

// Element j of the row that output `first` belongs to.
struct SoftmaxRow {
  std::size_t first;
  std::size_t inner;
  [[nodiscard]] std::size_t at(std::int64_t j) const { return first + static_cast<std::size_t>(j) * inner; }
};

// The sums of a row's exponentials, less the exponential of its largest element in each: at the low ends of all
// elements, and at the high ends. A masked element is -infinity, and its exponential 0.
struct RowExponentials {
  bool is_open = false;  // an element may be infinite, or all may be masked
  double largest = -kInfinity;
  double distance = 0;  // from the least element to the largest, as far as it rounds what is not negligible
  double sum_of_low = 0;
  double sum_of_high = 0;

  RowExponentials(const Softmax& step, const StepView& view, const SoftmaxRow& row) {
    Interval all{kInfinity, -kInfinity};
    double least_of_largest = -kInfinity;
    for (std::int64_t j = 0; j < step.length; ++j) {
      const Interval x = view.ends(0, row.at(j));
      all = hull(all, x);
      least_of_largest = std::max(least_of_largest, x.lo);
    }
    largest = all.hi;
    // Below e^-128, an exponential and its error are less than the last bit of every sum and result.
    distance = std::min(all.hi - all.lo, 128.0);
    is_open = !std::isfinite(largest) || !std::isfinite(least_of_largest);
    if (is_open) return;
    for (std::int64_t j = 0; j < step.length; ++j) {
      const Interval x = view.ends(0, row.at(j));
      sum_of_low += std::exp(x.lo - largest);
      sum_of_high += std::exp(x.hi - largest);
    }
  }

  // The softmax of an element rises with its own x and falls with all others.
  [[nodiscard]] Interval at(Interval x) const {
    const double low = std::exp(x.lo - largest);
    const double high = std::exp(x.hi - largest);
    const double others_high = std::max(0.0, sum_of_high - high);
    const double others_low = std::max(0.0, sum_of_low - low);
    // Without a number where all that it is divided by underflows.
    return {low == 0 ? 0 : low / (low + others_high), high + others_low == 0 ? 1 : high / (high + others_low)};
  }
};

}  // namespace

Spread spread_of(const Softmax& step, const StepView& view) {
  Spread y(view.elements());
  const auto length = static_cast<std::size_t>(step.length);
  const auto inner = static_cast<std::size_t>(step.inner);
  const double absolute = 4 * std::ldexp(1, -view.bits());
  for (std::size_t row_number = 0; length != 0 && row_number < y.size() / length; ++row_number) {
    const SoftmaxRow row{row_number / inner * length * inner + row_number % inner, inner};
    const RowExponentials exponentials(step, view, row);
    // Roundings: of the difference, which the exponential magnifies; of each exponential, the sum and the division.
    const double slack = (static_cast<double>(length) + exponentials.distance + 8) * std::ldexp(1, -view.bits());
    for (std::int64_t j = 0; j < step.length; ++j) {
      const std::size_t i = row.at(j);
      if (exponentials.is_open) {
        y.set(i, kOpen);
        continue;
      }
      const Interval real = exponentials.at(view.ends(0, i));
      y.set(i, {std::max(0.0, real.lo * (1 - slack) - absolute),
                std::min(1 + absolute, real.hi * (1 + slack) + absolute)});
    }
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
    const SoftmaxRow row{i / inner * length * inner + i % inner, inner};
    const auto best = [&](std::int64_t j) {
      const Interval x = view.ends(0, row.at(j));
      return step.smallest ? negative(x) : x;
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

// Profiles fused-int8 and fused-q31 take the answers that integer kernels give for a unit of DequantizeLinear, a sum of
// products and QuantizeLinear.

namespace {

const Step* step_of(const Program& program, ValueId value) {
  for (const Step& step : program.steps) {
    if (step.result == value) return &step;
  }
  return nullptr;
}

const DequantizeLinear* dequantized(const Program& program, ValueId value) {
  const Step* step = step_of(program, value);
  const auto* found = step == nullptr ? nullptr : std::get_if<Dequantize>(&step->what);
  return found == nullptr ? nullptr : &found->node;
}

// sx * sw of each element's terms, exact; 0 where they differ, or where there are none.
std::vector<double> product_scales(const Program& program, const Step& step, std::size_t elements) {
  std::vector<double> scales(elements, 0);
  const auto* sum = std::get_if<WeightedSum>(&step.what);
  if (sum == nullptr || !sum->has_factor || sum->alpha != 1 || !sum->divisor.empty()) return scales;
  const DequantizeLinear* a = dequantized(program, step.operands[0]);
  const DequantizeLinear* b = dequantized(program, step.operands[1]);
  if (a == nullptr || b == nullptr) return scales;
  for (std::size_t i = 0; i < elements; ++i) {
    bool is_first = true;
    const auto take = [&](std::int64_t at_a, std::int64_t at_b) {
      const double scale = a->x_scale[a->layout.parameter_of(at_a)] * b->x_scale[b->layout.parameter_of(at_b)];
      scales[i] = is_first || scale == scales[i] ? scale : 0;
      is_first = false;
    };
    sum->for_each_term(i, take);
  }
  return scales;
}

bool is_float_bias(const Spread& c, const Value& value) {
  return c.is_stated && value.type == ElementType::float32;
}

// Adds to element `at` what `given` is as a multiple of `scale`. Several sums may share it.
void round_bias(double scale, double given, std::size_t at, Spread& c) {
  const auto multiple = integer_bias(given, scale);
  if (!multiple) return;
  const double bias = *multiple * scale;
  c.set(at, hull(c.at(at), {below(bias), above(bias)}));
}

// The sum that a Q rounds, perhaps behind a Relu or Clip, which integer kernels do with their bounds.
const Step* sum_behind(const Program& program, ValueId value) {
  const Step* step = step_of(program, value);
  while (step != nullptr && !std::holds_alternative<WeightedSum>(step->what)) {
    const auto* clamp = std::get_if<Elementwise>(&step->what);
    if (clamp == nullptr || (clamp->function != Function::relu && clamp->function != Function::clip)) return nullptr;
    step = step_of(program, step->operands[0]);
  }
  return step;
}

}  // namespace

Spread with_fused_bias(const WeightedSum& sum, const StepView& view) {
  const std::size_t bias = view.operands.size() - 1;
  Spread c = *view.operands[bias];
  if (!is_float_bias(c, view.value(bias))) return c;
  const std::vector<double> scales = product_scales(view.program, view.step, view.elements());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto at = static_cast<std::size_t>(sum.c_index[i]);
    round_bias(scales[i], view.operands[bias]->lo[at], at, c);
  }
  c.unit.reset();
  return c;
}

Spread with_fused_bias(const Elementwise& add, const StepView& view, std::size_t bias) {
  Spread c = *view.operands[bias];
  const Step* step = step_of(view.program, view.step.operands[1 - bias]);
  const auto* sum = step == nullptr ? nullptr : std::get_if<WeightedSum>(&step->what);
  if (sum == nullptr || !sum->c_index.empty() || !is_float_bias(c, view.value(bias))) return c;
  const auto index = [&](std::size_t operand, std::size_t i) { return add.element_of(operand, i); };
  const std::vector<double> scales = product_scales(view.program, *step, view.operands[1 - bias]->size());
  for (std::size_t i = 0; i < view.elements(); ++i) {
    const std::size_t at = index(bias, i);
    round_bias(scales[index(1 - bias, i)], view.operands[bias]->lo[at], at, c);
  }
  c.unit.reset();
  return c;
}

// By tier Q31 (reference/numerics/admissible.h): an integer multiplier of sx*sw/sy, and one rounding or two.
std::vector<double> fixed_point_errors(const Quantize& step, const StepView& view) {
  std::vector<double> errors(view.elements(), -1);
  const Step* sum = sum_behind(view.program, view.step.operands[0]);
  if (sum == nullptr) return errors;
  if (view.program.values[sum->result].shape != view.result().shape) return errors;  // parts of values
  const std::vector<double> scales = product_scales(view.program, *sum, errors.size());
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double multiplier =
        std::fabs(scales[i] / step.node.y_scale[step.node.layout.parameter_of(static_cast<std::int64_t>(i))]);
    if (multiplier == 0 || !std::isfinite(multiplier)) continue;
    int least = 0;
    int largest = 0;
    (void)std::frexp(multiplier * (1 - 0x1p-50), &least);
    (void)std::frexp(multiplier * (1 + 0x1p-31 + 0x1p-50), &largest);
    errors[i] = least < 0 ? std::ldexp(1, -std::max(1, -largest) - 1) : 0;
  }
  return errors;
}

}  // namespace qconform::reference::graph
