#include "reference/graph/sets.h"

#include <algorithm>
#include <utility>

#include "reference/graph/evaluation.h"
#include "reference/numerics/floats.h"

namespace qconform::reference::graph {
namespace {

Spread stated(const Program& program, const Value& value) {
  Spread spread(value.stated.size());
  spread.lo = spread.hi = value.stated;
  spread.is_stated = true;
  if (program.may_be_exact) spread.unit = finest_unit(value.stated);
  for (std::size_t i = 0; i < spread.size(); ++i) {
    if (std::isnan(spread.lo[i])) spread.set(i, kOpen);
  }
  return spread;
}

Bounds bounds(Spread spread, const Value& value) {
  const int bits = precision_of(value.type);
  // A lone DQ keeps its own rule: its one product is rounded once.
  const bool is_one_product = spread.terms == 1 && spread.extra == 0;
  if (!spread.magnitude.empty() && !is_one_product) {
    for (std::size_t i = 0; i < spread.size(); ++i) spread.set(i, spread.ends(i, bits));
  }
  return spread;
}

}  // namespace

double rounded_to_type(ElementType type, double value) {
  if (type == ElementType::float32) return static_cast<double>(static_cast<float>(value));
  return is_wide_float(type) && type != ElementType::float64 ? rounded_to(float_format(type), value) : value;
}

Interval Bounds::rounded(std::size_t i, ElementType type) const {
  return {rounded_to_type(type, lo[i]), rounded_to_type(type, hi[i])};
}

int precision_of(ElementType type) {
  switch (type) {
    case ElementType::float32: return 24;
    case ElementType::float16: return 11;
    case ElementType::bfloat16: return 8;
    default: return 53;
  }
}

double overflow_of(ElementType type) {
  if (type == ElementType::float16) return 65520.0;
  return is_wide_float(type) && type != ElementType::float64 ? std::ldexp(1, 128) : kInfinity;
}

Interval StepView::within_range(Interval exact) const {
  const double limit = overflow_of(result().type);
  return exact.lo <= -limit || exact.hi >= limit ? kOpen : exact;
}

void StepView::open_beyond_range(Spread& y, std::size_t i) const {
  if (y.magnitude[i] + y.radius(i, bits()) < overflow_of(result().type)) return;
  y.set(i, kOpen);
  y.magnitude[i] = kInfinity;
}

Interval StepView::underflowed(Interval exact) const {
  const double smallest_normal = std::ldexp(1, smallest_exponent(bits()) + bits() - 1);
  const auto moved = [&](double end) {
    if (std::fabs(end) < kSmallestKept) return 0.0;
    return std::fabs(end) < smallest_normal ? rounded_to_type(result().type, end) : end;
  };
  // Roundings there are no share of the number: the smallest number bounds each.
  const double smallest = std::ldexp(1, smallest_exponent(bits()));
  const auto slack = [&](double end) { return end != 0 && std::fabs(end) < smallest_normal ? smallest : 0.0; };
  const Interval wide{exact.lo - slack(exact.lo), exact.hi + slack(exact.hi)};
  return hull(wide, {moved(exact.lo), moved(exact.hi)});
}

Interval StepView::rounded(Interval exact) const {
  const ElementType type = result().type;
  exact = within_range(exact);
  if (exact.is_open() || tier == Tier::exact) return exact;
  const Interval nearest{rounded_to_type(type, exact.lo), rounded_to_type(type, exact.hi)};
  return carries_chain() ? underflowed(hull(exact, nearest)) : hull(exact, nearest);
}

std::optional<int> finest_unit(std::span<const double> values) {
  int unit = 1024;
  for (const double value : values) {
    if (!std::isfinite(value)) return std::nullopt;
    if (value == 0) continue;
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::fabs(fraction), 53));
    unit = std::min(unit, exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(mantissa)));
  }
  return unit;
}

namespace {

// Holds the spreads of the values so far, and how many steps have been evaluated.
struct ProgramEvaluation {
  std::vector<Spread> spreads{};
  std::size_t steps = 0;

  void go_on(const Program& program, Tier tier, const std::map<ValueId, Spread>& answered) {
    // A value that no step computes and nobody needs has no elements: it takes nothing from others' exactness.
    for (std::size_t i = spreads.size(); i < program.values.size(); ++i) {
      spreads.push_back(stated(program, program.values[i]));
    }
    std::vector<const Spread*> operands;
    for (; steps < program.steps.size(); ++steps) {
      const Step& step = program.steps[steps];
      operands.clear();
      const bool moves = std::holds_alternative<Move>(step.what);
      for (const ValueId operand : step.operands) {
        const auto found = moves ? answered.end() : answered.find(operand);
        operands.push_back(found == answered.end() ? &spreads[operand] : &found->second);
      }
      const StepView view{program, step, operands, tier};
      spreads[step.result] = std::visit([&](const auto& what) { return spread_of(what, view); }, step.what);
    }
  }
};

}  // namespace

std::vector<Bounds> bounds_of(const Program& program, Tier tier, const Answers& given) {
  std::map<ValueId, Spread> answered;
  for (const auto& [value, numbers] : given) {
    Spread spread(numbers.size());
    spread.lo = spread.hi = numbers;
    if (program.may_be_exact) spread.unit = finest_unit(numbers);
    answered.emplace(value, std::move(spread));
  }
  ProgramEvaluation evaluation;
  evaluation.go_on(program, tier, answered);
  std::vector<Bounds> result;
  result.reserve(program.values.size());
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    result.push_back(bounds(std::move(evaluation.spreads[i]), program.values[i]));
  }
  return result;
}

struct GrowingBounds::State {
  Tier tier;
  bool may_be_exact = true;  // the program's at the last call: spreads depend on it
  ProgramEvaluation evaluation{};
};

GrowingBounds::GrowingBounds(Tier tier) : state_(std::make_unique<State>(State{tier})) {}
GrowingBounds::~GrowingBounds() = default;

Bounds GrowingBounds::of(const Program& program, ValueId value) {
  if (program.may_be_exact != state_->may_be_exact) cut(0, 0);
  state_->may_be_exact = program.may_be_exact;
  state_->evaluation.go_on(program, state_->tier, {});
  return bounds(Spread(state_->evaluation.spreads[value]), program.values[value]);
}

void GrowingBounds::cut(std::size_t values, std::size_t steps) {
  ProgramEvaluation& evaluation = state_->evaluation;
  if (values < evaluation.spreads.size()) evaluation.spreads.resize(values);
  evaluation.steps = std::min(evaluation.steps, steps);
}

}  // namespace qconform::reference::graph
