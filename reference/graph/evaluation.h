// How each kind of step treats sets, and what sums of many terms need: for sets.cc and its siblings alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "reference/graph/program.h"
#include "reference/graph/sets.h"

namespace qconform::reference::graph {

// The evaluation of sets keeps the interval of each exact value, the roundings behind it, and bounds that grow.

inline constexpr Interval kOpen{-kInfinity, kInfinity};

/// The next double outwards: for ends that a double operation may have rounded inwards.
[[nodiscard]] inline double below(double value) {
  return std::nextafter(value, -kInfinity);
}
[[nodiscard]] inline double above(double value) {
  return std::nextafter(value, kInfinity);
}

/// The smallest interval of both.
[[nodiscard]] inline Interval hull(Interval a, Interval b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

/// The interval of the larger one of two numbers, and of the smaller one.
[[nodiscard]] inline Interval larger(Interval a, Interval b) {
  return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
}
[[nodiscard]] inline Interval smaller(Interval a, Interval b) {
  return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
}
[[nodiscard]] inline Interval negative(Interval x) {
  return {-x.hi, -x.lo};
}
[[nodiscard]] inline Interval interval_of(IntegerRange range) {
  return {static_cast<double>(range.lo), static_cast<double>(range.hi)};
}

/// The exponent of the smallest positive number of a float type of `bits` bits of precision.
[[nodiscard]] inline int smallest_exponent(int bits) {
  switch (bits) {
    case 11: return -24;
    case 8: return -133;
    case 24: return -149;
    default: return -1074;
  }
}

/// One value, by element: its bounds before the roundings of its chain, given the answers that the Qs before may have
/// given. A chain of linear nodes carries the interval of its exact value along, and counts what roundings any
/// association of it has; ends() adds them up.
struct Spread : Bounds {
  /// Sums of magnitudes that roundings are relative to; empty: `lo` and `hi` have all roundings in them.
  std::vector<double> magnitude = {};
  int terms = 0;  ///< K of the chain so far; 0: no chain
  int extra = 0;  ///< further roundings of the chain
  /// Set in the place of `terms` and `extra` where the chain begins with integers or parameters, not with a DQ: the
  /// roundings that a term has passed through, at most.
  std::optional<int> counted{};
  std::optional<int> unit{};  ///< set where values are exact: each exact element is a multiple of 2^unit
  bool is_stated = false;     ///< an input or initializer, or one that was moved

  explicit Spread(std::size_t elements = 0) : Bounds{std::vector<double>(elements), std::vector<double>(elements)} {}

  void set(std::size_t i, Interval interval) {
    lo[i] = interval.lo;
    hi[i] = interval.hi;
  }
  /// At least the magnitude of the element.
  [[nodiscard]] double magnitude_at(std::size_t i) const {
    const double size = std::max(std::fabs(lo[i]), std::fabs(hi[i]));
    return magnitude.empty() ? size : std::max(size, magnitude[i]);
  }
  /// Roundings that a term of the chain has passed through, at most; a lone DQ's is one. Those of Q's quotient come
  /// behind: two of the five that ends() adds.
  [[nodiscard]] int roundings() const {
    if (counted) return *counted;
    if (magnitude.empty()) return 0;
    return terms == 1 && extra == 0 ? 1 : terms + 3 + extra;
  }
  /// Whether it stands in no chain that began with a DQ.
  [[nodiscard]] bool is_counted() const { return counted || magnitude.empty(); }
  /// Counts at least that many.
  void count_roundings(int most) { extra = std::max(extra, most - 3 - terms); }

  /// Whether element i is exact, in a type of `bits` bits of precision.
  [[nodiscard]] bool is_exact(std::size_t i, int bits) const {
    return lo[i] == hi[i] && is_exact_sum(magnitude_at(i), bits);
  }
  /// Whether sums of that magnitude are neither rounded nor flushed to zero, in a type of `bits` bits of precision.
  [[nodiscard]] bool is_exact_sum(double sum, int bits) const {
    return unit && *unit >= std::max(smallest_exponent(bits), -126) && sum <= std::ldexp(1, *unit + bits);
  }
  /// How far the roundings of its chain move the element (any-association), in a type of `bits` bits of precision.
  /// `quotient`: those of the quotient that a Q takes, which a chain behind a DQ has counted.
  [[nodiscard]] double radius(std::size_t i, int bits, int quotient = 0) const {
    if (magnitude.empty() || magnitude[i] == 0 || is_exact(i, bits)) return 0;
    const double m = counted ? *counted + quotient : terms + 5 + extra;
    const double unity = std::ldexp(1, bits);
    if (m >= unity) return kInfinity;
    return m / (unity - m) * magnitude[i] * (1 + 0x1p-50) + (2.0 * terms + 4) * 0x1p-126;
  }
  /// The element with the roundings of its chain.
  [[nodiscard]] Interval ends(std::size_t i, int bits, int quotient = 0) const {
    const double moved = radius(i, bits, quotient);
    return moved == 0 ? at(i) : Interval{below(lo[i] - moved), above(hi[i] + moved)};
  }
};

// The right values of a program that is written down step by step.

/// bounds_of() of a program that grows at its end, or is cut back: what stays is computed once.
class GrowingBounds {
 public:
  explicit GrowingBounds(Tier tier);
  ~GrowingBounds();
  GrowingBounds(const GrowingBounds&) = delete;
  GrowingBounds& operator=(const GrowingBounds&) = delete;

  /// Returns the bounds of one value; `program` is that of the call before with values and steps added at its end.
  [[nodiscard]] Bounds of(const Program& program, ValueId value);
  /// Forgets all but the first values and steps.
  void cut(std::size_t values, std::size_t steps);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A step to be evaluated, and the function of each kind of step.

/// Numbers below may be flushed to zero: the smallest normal one of float32.
inline constexpr double kSmallestKept = 0x1p-126;

/// Holds a step to be evaluated: its operands' spreads, in their order, and the tier.
struct StepView {
  const Program& program;
  const Step& step;
  std::span<const Spread* const> operands;
  Tier tier;

  [[nodiscard]] const Value& result() const { return program.values[step.result]; }
  [[nodiscard]] const Value& value(std::size_t operand) const { return program.values[step.operands[operand]]; }
  /// Returns the bits of precision of the result's type.
  [[nodiscard]] int bits() const { return precision_of(result().type); }
  /// An operand's element with the roundings of its chain.
  [[nodiscard]] Interval ends(std::size_t operand, std::size_t i) const {
    return operands[operand]->ends(i, precision_of(value(operand).type));
  }
  /// Whether chains of linear nodes carry their exact values along.
  [[nodiscard]] bool carries_chain() const { return tier >= Tier::any_association; }
  [[nodiscard]] std::size_t elements() const {
    std::size_t count = 1;
    for (const std::int64_t size : result().shape) count *= static_cast<std::size_t>(size);
    return count;
  }
  /// The interval of an exact result; open where it may overflow the result's type.
  [[nodiscard]] Interval within_range(Interval exact) const;
  /// Element i of a chain, this step's result, is open where any sum of its terms may overflow.
  void open_beyond_range(Spread& y, std::size_t i) const;
  /// The interval of an exact result of a chain's step, with what becomes of numbers below the smallest normal one:
  /// they are rounded to multiples of the smallest number, or flushed to zero.
  [[nodiscard]] Interval underflowed(Interval exact) const;
  /// The interval of an operation's exact result as the result's type has it: rounded where nodes are read as written,
  /// either where any association is right; open where it may overflow.
  [[nodiscard]] Interval rounded(Interval exact) const;
};

[[nodiscard]] Spread spread_of(const Quantize& step, const StepView& view);
[[nodiscard]] Spread spread_of(const Dequantize& step, const StepView& view);
[[nodiscard]] Spread spread_of(const WeightedSum& step, const StepView& view);
[[nodiscard]] Spread spread_of(const Extreme& step, const StepView& view);
[[nodiscard]] Spread spread_of(const Move& step, const StepView& view);
[[nodiscard]] Spread spread_of(const Elementwise& step, const StepView& view);
[[nodiscard]] Spread spread_of(const Softmax& step, const StepView& view);
[[nodiscard]] Spread spread_of(const ArgMax& step, const StepView& view);
[[nodiscard]] Spread spread_of(const Requantize& step, const StepView& view);
[[nodiscard]] Spread spread_of(const TopK& step, const StepView& view);
[[nodiscard]] Spread spread_of(const Normalize& step, const StepView& view);

/// Adds to the set of a sum what follows from activations that its accuracy_level permits to be narrower.
void include_narrow_activations(const WeightedSum& sum, const StepView& view, Spread& y);

// Functions of integers and of DynamicQuantizeLinear.
[[nodiscard]] Interval wrapped_to_32_bits(Interval x);
[[nodiscard]] Interval dynamic_scale(Interval largest, Interval least, const StepView& view);
[[nodiscard]] Interval rounded_and_saturated(Interval quotient, Interval zero_point, ElementType type);

/// Returns the last operand of a sum, its bias, with the numbers that integer kernels make of a stated float: multiples
/// of sx * sw.
[[nodiscard]] Spread with_fused_bias(const WeightedSum& sum, const StepView& view);
/// Returns operand `bias` of an Add behind a sum, with the numbers that integer kernels make of a stated float:
/// multiples of sx * sw.
[[nodiscard]] Spread with_fused_bias(const Elementwise& add, const StepView& view, std::size_t bias);
/// By element of a Q: how far the shifts of an integer multiplier move the quotient, beside the multiplier's own error;
/// negative where it does not round a sum of products of dequantized values.
[[nodiscard]] std::vector<double> fixed_point_errors(const Quantize& step, const StepView& view);

/// Numbers of at least this magnitude may overflow a float type; infinite for what is no float.
[[nodiscard]] double overflow_of(ElementType type);

/// The exponent of the lowest bit that is set in any of the numbers; nothing where one is not finite.
[[nodiscard]] std::optional<int> finest_unit(std::span<const double> values);

/// The coarser of two grids' common refinement; nothing where one has none.
[[nodiscard]] inline std::optional<int> finer(std::optional<int> a, std::optional<int> b) {
  if (!a || !b) return std::nullopt;
  return std::min(*a, *b);
}

}  // namespace qconform::reference::graph
