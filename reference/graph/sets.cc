#include "reference/graph/sets.h"

#include "reference/graph/evaluation.h"
#include "reference/numerics/small_float.h"

namespace qconform::reference::graph {
namespace {

bool is_float(Element type) {
  return type == Element::float32 || type == Element::float16 || type == Element::bfloat16 || type == Element::float64;
}

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

Bounds bounds(const Spread& spread, const Value& value) {
  Bounds result;
  const int bits = precision_of(value.type);
  result.lo = spread.lo;
  result.hi = spread.hi;
  result.members = spread.members;
  // A lone DQ keeps its own rule: its one product is rounded once.
  const bool is_one_product = spread.terms == 1 && spread.extra == 0;
  if (spread.magnitude.empty() || is_one_product) return result;
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const Interval ends = spread.ends(i, bits);
    result.lo[i] = ends.lo;
    result.hi[i] = ends.hi;
  }
  return result;
}

}  // namespace

double rounded_to_type(Element type, double value) {
  if (type == Element::float32) return static_cast<double>(static_cast<float>(value));
  return is_float(type) && type != Element::float64 ? rounded_to(float_format(type), value) : value;
}

int precision_of(Element type) {
  switch (type) {
    case Element::float32: return 24;
    case Element::float16: return 11;
    case Element::bfloat16: return 8;
    default: return 53;
  }
}

double overflow_of(Element type) {
  if (type == Element::float16) return 65520.0;
  return is_float(type) && type != Element::float64 ? std::ldexp(1, 128) : kInfinity;
}

Interval StepView::rounded(Interval exact) const {
  const Element type = result().type;
  const double limit = overflow_of(type);
  if (exact.is_open() || exact.lo <= -limit || exact.hi >= limit) return kOpen;
  if (reading == Reading::exact) return exact;
  const Interval nearest{rounded_to_type(type, exact.lo), rounded_to_type(type, exact.hi)};
  return hull(exact, nearest);
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

std::vector<Bounds> bounds_of(const Program& program, Reading reading, const Answers& given) {
  std::map<ValueId, Spread> answered;
  for (const auto& [value, numbers] : given) {
    Spread spread(numbers.size());
    spread.lo = spread.hi = numbers;
    answered.emplace(value, std::move(spread));
  }
  std::vector<Spread> spreads(program.values.size());
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    if (!program.values[i].stated.empty()) spreads[i] = stated(program, program.values[i]);
  }
  std::vector<const Spread*> operands;
  for (const Step& step : program.steps) {
    operands.clear();
    const bool moves = std::holds_alternative<Move>(step.what);
    for (const ValueId operand : step.operands) {
      const auto found = moves ? answered.end() : answered.find(operand);
      operands.push_back(found == answered.end() ? &spreads[operand] : &found->second);
    }
    const StepView view{program, step, operands, reading};
    spreads[step.result] = std::visit([&](const auto& what) { return spread_of(what, view); }, step.what);
  }
  std::vector<Bounds> result;
  for (std::size_t i = 0; i < spreads.size(); ++i) result.push_back(bounds(spreads[i], program.values[i]));
  return result;
}

}  // namespace qconform::reference::graph
