// How each kind of step treats sets: for sets.cc alone.
#pragma once

#include <span>

#include "reference/graph/spread.h"

namespace qconform::reference::graph {

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
