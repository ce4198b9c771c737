// Sets behind element-wise functions.
#include <array>
#include <bit>
#include <cstdint>

#include "reference/graph/evaluation.h"

namespace qconform::reference::graph {
namespace {

// The values of all operands of one output element, and what to do with them.
class ElementOperands {
 public:
  ElementOperands(const Elementwise& step, const StepView& view) : step_(step), view_(view) {}

  [[nodiscard]] std::size_t index(std::size_t operand, std::size_t i) const { return step_.element_of(operand, i); }
  [[nodiscard]] Interval exact(std::size_t operand, std::size_t i) const {
    return view_.operands[operand]->at(index(operand, i));
  }
  [[nodiscard]] Interval ends(std::size_t operand, std::size_t i) const {
    return view_.ends(operand, index(operand, i));
  }
  [[nodiscard]] double magnitude(std::size_t operand, std::size_t i) const {
    return view_.operands[operand]->magnitude_at(index(operand, i));
  }

 private:
  const Elementwise& step_;
  const StepView& view_;
};

Interval outwards(Interval x) {
  return {below(x.lo), above(x.hi)};
}

// How far the exact a + b lies from the nearest double `nearest` (two-sum: this difference is a double itself).
double error_of_sum(double a, double b, double nearest) {
  const double other = nearest - a;
  return (a - (nearest - other)) + (b - other);
}

// Each end moves outwards only where its own sum is no double: a wider interval never gets a narrower sum.
Interval sum(Interval a, Interval b) {
  const Interval nearest{a.lo + b.lo, a.hi + b.hi};
  if (!std::isfinite(nearest.lo) || !std::isfinite(nearest.hi)) return outwards(nearest);
  return {error_of_sum(a.lo, b.lo, nearest.lo) < 0 ? below(nearest.lo) : nearest.lo,
          error_of_sum(a.hi, b.hi, nearest.hi) > 0 ? above(nearest.hi) : nearest.hi};
}

Interval product(Interval a, Interval b) {
  const std::array corners{a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
  const Interval nearest{*std::min_element(corners.begin(), corners.end()),
                         *std::max_element(corners.begin(), corners.end())};
  const bool is_exact = a.lo == a.hi && b.lo == b.hi && std::fma(a.lo, b.lo, -nearest.lo) == 0;
  const bool is_zero = (a.lo == 0 && a.hi == 0) || (b.lo == 0 && b.hi == 0);
  return is_exact || is_zero ? nearest : outwards(nearest);
}

// Nothing where 0 is among the divisors: any value is right there.
Interval quotient(Interval a, Interval b) {
  if (b.lo <= 0 && b.hi >= 0) return kOpen;
  const std::array corners{a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi};
  const Interval nearest{*std::min_element(corners.begin(), corners.end()),
                         *std::max_element(corners.begin(), corners.end())};
  const bool is_exact = a.lo == a.hi && b.lo == b.hi && std::fma(nearest.lo, b.lo, -a.lo) == 0;
  return is_exact ? nearest : outwards(nearest);
}

Interval magnitude(Interval x) {
  if (x.lo >= 0) return x;
  if (x.hi <= 0) return negative(x);
  return {0, std::max(-x.lo, x.hi)};
}

// Slope alpha below 0: two linear pieces, which meet at 0.
Interval leaky(Interval x, double alpha) {
  Interval result{kInfinity, -kInfinity};
  if (x.hi >= 0) result = {std::max(x.lo, 0.0), x.hi};
  if (x.lo < 0) result = hull(result, product({x.lo, std::min(x.hi, 0.0)}, {alpha, alpha}));
  return result;
}

Interval clipped(Interval x, Interval lowest, Interval highest) {
  return smaller(larger(x, lowest), highest);
}

double gelu(double x) {
  return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
}
double gelu_by_tanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

// Encloses the results of a function that rises: those at the ends of x, with the slack of bounded functions in floats,
// 4 units in the last place and 4 * 2^-bits. The doubles of the C library are far closer.
template <typename Real>
Interval around(Interval x, int bits, Real real) {
  const auto slack = [&](double value) { return 4 * std::ldexp(1, -bits) * std::max(1.0, std::fabs(value) * 2); };
  const double lo = real(x.lo);
  const double hi = real(x.hi);
  return {lo - slack(lo), hi + slack(hi)};
}

// Gelu falls up to its minimum near -0.752, and rises behind it.
template <typename Real>
Interval around_gelu(Interval x, int bits, Real real) {
  constexpr double kLowest = -0.7517915;
  Interval result = around(x, bits, real);
  result = {std::min(result.lo, around({x.hi, x.hi}, bits, real).lo),
            std::max(result.hi, around({x.lo, x.lo}, bits, real).hi)};
  if (x.lo < kLowest && x.hi > kLowest) result.lo = std::min(result.lo, around({kLowest, kLowest}, bits, real).lo);
  return result;
}

Interval sigmoid(Interval x, int bits) {
  Interval result = around(x, bits, [](double v) { return 1 / (1 + std::exp(-v)); });
  return {std::max(result.lo, 0.0), std::min(result.hi, 1 + 4 * std::ldexp(1, -bits))};
}

// alpha * x + beta, with a rounding each.
Interval affine(Interval x, double alpha, double beta, int bits) {
  const Interval value = sum(product(x, {alpha, alpha}), {beta, beta});
  const double size = std::max(std::fabs(x.lo), std::fabs(x.hi)) * std::fabs(alpha) + std::fabs(beta);
  const double radius = 3 * std::ldexp(1, -bits) * size * (1 + 0x1p-20);
  return {value.lo - radius, value.hi + radius};
}

// Encloses results of a function that rises and is never far from what libraries compute: 4 units in the last place.
template <typename Real>
Interval within_four_units(Interval x, const StepView& view, Real real) {
  const double slack = 8 * std::ldexp(1, -view.bits());
  const double smallest = 4 * std::ldexp(1, smallest_exponent(view.bits()));
  const double lo = real(x.lo);
  const double hi = real(x.hi);
  const Interval result{lo - std::fabs(lo) * slack - smallest, hi + std::fabs(hi) * slack + smallest};
  return view.underflowed(view.within_range(result));
}

Interval square_root(Interval x, const StepView& view) {
  if (x.lo < 0) return kOpen;
  const auto is_exact = [](double value) {
    const double root = std::sqrt(value);
    return std::fma(root, root, -value) == 0;
  };
  const Interval roots{is_exact(x.lo) ? std::sqrt(x.lo) : below(std::sqrt(x.lo)),
                       is_exact(x.hi) ? std::sqrt(x.hi) : above(std::sqrt(x.hi))};
  return view.rounded(roots);
}

// One power for all, or any value: powers of numbers below 0 are numbers for whole exponents alone.
Interval power(Interval x, Interval exponent, const StepView& view) {
  const double p = exponent.lo;
  const bool is_whole = p == std::floor(p) && std::fabs(p) < 0x1p20;
  const bool divides = p < 0 && x.lo <= 0 && x.hi >= 0;
  if (exponent.lo != exponent.hi || divides || (x.lo < 0 && !is_whole)) return kOpen;
  const auto real = [p](double value) { return std::pow(value, p); };
  const bool is_even = is_whole && std::fmod(p, 2) == 0;
  const Interval base = is_even ? magnitude(x) : x;
  const bool falls = p < 0;
  return within_four_units(falls ? Interval{base.hi, base.lo} : base, view, real);
}

// 1, 0, or both.
Interval truth(bool is_certain, bool is_possible) {
  return {is_certain ? 1.0 : 0.0, is_possible ? 1.0 : 0.0};
}

std::optional<Interval> deciding(Function function, Interval a, Interval b) {
  switch (function) {
    case Function::equal: return truth(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, a.lo <= b.hi && b.lo <= a.hi);
    case Function::less: return truth(a.hi < b.lo, a.lo < b.hi);
    case Function::less_or_equal: return truth(a.hi <= b.lo, a.lo <= b.hi);
    case Function::logical_and: return truth(a.lo != 0 && b.lo != 0, a.hi != 0 && b.hi != 0);
    case Function::logical_or: return truth(a.lo != 0 || b.lo != 0, a.hi != 0 || b.hi != 0);
    default: return std::nullopt;
  }
}

// Whether computing it costs so much that few different operands are worth remembering.
bool is_slow(Function function) {
  switch (function) {
    case Function::sigmoid:
    case Function::tanh:
    case Function::erf:
    case Function::gelu:
    case Function::gelu_tanh:
    case Function::exp:
    case Function::log: return true;
    default: return false;
  }
}

// Results of a slow function by their operand. Those of 8-bit data have 256 values; others fall out again.
class FunctionTable {
 public:
  template <typename Compute>
  Interval at(Interval x, Compute compute) {
    const std::size_t slot =
        (std::bit_cast<std::uint64_t>(x.lo) * 0x9E3779B97F4A7C15U ^ std::bit_cast<std::uint64_t>(x.hi)) >> 52;
    Entry& entry = entries_[slot];
    if (entry.is_filled && entry.x.lo == x.lo && entry.x.hi == x.hi) return entry.y;
    entry = {x, compute(), true};
    return entry.y;
  }

 private:
  struct Entry {
    Interval x{0, 0};
    Interval y{0, 0};
    bool is_filled = false;
  };
  std::vector<Entry> entries_ = std::vector<Entry>(4096);
};

// Those that round once, or as a whole.
Interval rounding(const Elementwise& step, const StepView& view, const ElementOperands& of, std::size_t i) {
  const Interval x = of.ends(0, i);
  const int bits = view.bits();
  switch (step.function) {
    case Function::add: return view.rounded(sum(x, of.ends(1, i)));
    case Function::sub: return view.rounded(sum(x, negative(of.ends(1, i))));
    case Function::mul: return view.rounded(product(x, of.ends(1, i)));
    case Function::wrap32: return wrapped_to_32_bits(x);
    case Function::dynamic_scale: return dynamic_scale(x, of.ends(1, i), view);
    case Function::round_saturate: return rounded_and_saturated(x, of.ends(1, i), view.result().type);
    case Function::div: return view.rounded(quotient(x, of.ends(1, i)));
    case Function::leaky_relu: return view.rounded(leaky(x, step.alpha));
    case Function::hard_sigmoid: {
      const Interval line = view.tier == Tier::exact ? sum(product(x, {step.alpha, step.alpha}), {step.beta, step.beta})
                                                     : affine(x, step.alpha, step.beta, bits);
      return clipped(line, {0, 0}, {1, 1});
    }
    case Function::sigmoid: return sigmoid(x, bits);
    case Function::tanh: return around(x, bits, [](double v) { return std::tanh(v); });
    case Function::erf: return around(x, bits, [](double v) { return std::erf(v); });
    case Function::gelu: return around_gelu(x, bits, gelu);
    case Function::gelu_tanh: return around_gelu(x, bits, gelu_by_tanh);
    case Function::sqrt: return square_root(x, view);
    case Function::exp: return within_four_units(x, view, [](double v) { return std::exp(v); });
    case Function::log: return x.lo <= 0 ? kOpen : within_four_units(x, view, [](double v) { return std::log(v); });
    case Function::pow: return power(x, of.ends(1, i), view);
    case Function::prelu: {
      const Interval slope = of.ends(1, i);
      return view.rounded(hull(leaky(x, slope.lo), leaky(x, slope.hi)));
    }
    default: return x;
  }
}

// Those whose result is one of the operands' numbers, or its opposite.
std::optional<Interval> selecting(const Elementwise& step, const StepView& view, const ElementOperands& of,
                                  std::size_t i) {
  const Interval x = of.ends(0, i);
  const std::size_t count = view.operands.size();
  if (count == 2) {
    if (const auto decided = deciding(step.function, x, of.ends(1, i))) return decided;
  }
  switch (step.function) {
    case Function::logical_not: return Interval{1 - x.hi, 1 - x.lo};
    case Function::neg: return negative(x);
    case Function::abs: return magnitude(x);
    case Function::relu: return larger(x, {0, 0});
    case Function::clip: return clipped(x, {step.alpha, step.alpha}, {step.beta, step.beta});
    case Function::max:
    case Function::min: {
      Interval result = x;
      for (std::size_t operand = 1; operand < count; ++operand) {
        const Interval other = of.ends(operand, i);
        result = step.function == Function::max ? larger(result, other) : smaller(result, other);
      }
      return result;
    }
    case Function::where: {
      if (x.lo == x.hi) return of.ends(x.lo != 0 ? 1 : 2, i);
      return hull(of.ends(1, i), of.ends(2, i));
    }
    case Function::either: return hull(x, of.ends(1, i));
    case Function::cast: return view.rounded(x);
    default: return std::nullopt;
  }
}

bool is_open_anywhere(const StepView& view, const ElementOperands& of, std::size_t i) {
  for (std::size_t operand = 0; operand < view.operands.size(); ++operand) {
    if (of.exact(operand, i).is_open()) return true;
  }
  return false;
}

// Returns the unit (Spread) of the result of an Add, Sub or Mul; nothing where an operand has none.
std::optional<int> linear_unit(const Elementwise& step, const StepView& view) {
  const std::optional<int> a = view.operands[0]->unit;
  const std::optional<int> b = view.operands[1]->unit;
  if (step.function != Function::mul) return finer(a, b);
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

// Add, Sub and Mul of a chain carry it on.
Spread linear(const Elementwise& step, const StepView& view, const ElementOperands& of) {
  const Spread& a = *view.operands[0];
  const Spread& b = *view.operands[1];
  Spread y(view.elements());
  y.magnitude.resize(y.size());
  const bool is_product = step.function == Function::mul;
  y.unit = linear_unit(step, view);
  const int roundings = (is_product ? a.roundings() + b.roundings() : std::max(a.roundings(), b.roundings())) + 1;
  if (a.is_counted() && b.is_counted()) y.counted = roundings;
  y.terms = is_product ? std::max(2, a.terms + b.terms) : std::max({1, a.terms, b.terms}) + 1;
  y.extra = std::max(a.extra, b.extra) + (a.terms > 1 || b.terms > 1 ? 1 : 0);
  y.count_roundings(roundings);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double sizes[] = {of.magnitude(0, i), of.magnitude(1, i)};
    y.magnitude[i] = is_product ? sizes[0] * sizes[1] : sizes[0] + sizes[1];
    if (is_open_anywhere(view, of, i)) y.magnitude[i] = kInfinity;
    const Interval left = of.exact(0, i);
    const Interval right = of.exact(1, i);
    y.set(i, view.underflowed(is_product ? product(left, right)
                                         : sum(left, step.function == Function::add ? right : negative(right))));
    view.open_beyond_range(y, i);
  }
  return y;
}

// Returns the unit (Spread) of the result of a function that selects: the finest of the operands' units and the
// bounds'.
std::optional<int> unit_behind(const Elementwise& step, const StepView& view) {
  if (!view.program.may_be_exact) return std::nullopt;
  std::optional<int> unit = 1024;
  const std::size_t first = step.function == Function::where ? 1 : 0;
  for (std::size_t operand = first; operand < view.operands.size(); ++operand) {
    unit = finer(unit, view.operands[operand]->unit);
  }
  if (step.function != Function::clip) return unit;
  std::vector<double> bounds;
  for (const double bound : {step.alpha, step.beta}) {
    if (std::isfinite(bound)) bounds.push_back(bound);
  }
  return finer(unit, finest_unit(bounds));
}

// A sum of integers as a float: the first of a chain's roundings.
Spread of_integers(const Elementwise& step, const StepView& view) {
  const Spread& x = *view.operands[0];
  Spread y(view.elements());
  y.unit = x.unit;
  y.terms = x.terms;
  y.extra = x.extra;
  y.is_stated = x.is_stated;
  y.magnitude.resize(y.size());
  y.counted = 1;
  for (std::size_t i = 0; i < y.size(); ++i) {
    y.set(i, x.at(step.element_of(0, i)));
    y.magnitude[i] = std::max(std::fabs(y.lo[i]), std::fabs(y.hi[i]));
    view.open_beyond_range(y, i);
  }
  return y;
}

bool is_linear(Function function) {
  return function == Function::add || function == Function::sub || function == Function::mul;
}

}  // namespace

Spread spread_of(const Elementwise& step, const StepView& view) {
  const ElementOperands of(step, view);
  const bool is_whole = is_integer(view.result().type);
  if (step.function == Function::cast && view.carries_chain() && view.value(0).type == ElementType::int32 &&
      view.result().type == ElementType::float32) {
    return of_integers(step, view);
  }
  if (is_linear(step.function) && view.carries_chain() && !is_whole) {
    if (step.function != Function::add || view.tier < Tier::fused_int8) return linear(step, view, of);
    const Spread biases[] = {with_fused_bias(step, view, 0), with_fused_bias(step, view, 1)};
    const Spread* const operands[] = {&biases[0], &biases[1]};
    const StepView fused{view.program, view.step, operands, view.tier};
    return linear(step, fused, ElementOperands(step, fused));
  }
  Spread y(view.elements());
  bool selects = false;
  std::optional<FunctionTable> table;
  if (is_slow(step.function)) table.emplace();
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (is_open_anywhere(view, of, i)) {
      const bool is_stored = step.function == Function::round_saturate;
      y.set(i, is_stored ? rounded_and_saturated(kOpen, kOpen, view.result().type) : kOpen);
      continue;
    }
    if (table) {
      y.set(i, table->at(of.ends(0, i), [&] { return rounding(step, view, of, i); }));
      continue;
    }
    const auto selected = selecting(step, view, of, i);
    selects = selected.has_value();
    y.set(i, selected ? *selected : rounding(step, view, of, i));
  }
  if (selects) y.unit = unit_behind(step, view);
  if (is_linear(step.function)) y.unit = linear_unit(step, view);
  if (is_whole && view.program.may_be_exact) y.unit = 0;
  return y;
}

}  // namespace qconform::reference::graph
