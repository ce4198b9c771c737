// Sets behind QuantizeLinear and DequantizeLinear, and behind integer products, DynamicQuantizeLinear and TopK.

#include <algorithm>

#include "reference/graph/evaluation.h"
#include "reference/numerics/admissible.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform::reference::graph {
namespace {

// a * b: one double where that is exact, else its neighbours.
Interval product(double a, double b) {
  const double nearest = a * b;
  if (std::fma(a, b, -nearest) == 0) return {nearest, nearest};
  return {below(nearest), above(nearest)};
}

Interval quotient(double a, double b) {
  const double nearest = a / b;
  if (std::fma(nearest, b, -a) == 0) return {nearest, nearest};
  return {below(nearest), above(nearest)};
}

// Between both ends' results, whichever is larger: scales may be negative.
template <typename Operation>
Interval of_ends(Interval x, Operation operation) {
  return hull(operation(x.lo), operation(x.hi));
}

// x / scale, in every way that the tier allows.
Interval quotients(const Quantize& step, const StepView& view, Interval x, double scale, bool is_exact) {
  Interval result = of_ends(x, [&](double end) { return quotient(end, scale); });
  if (is_exact || view.tier == Tier::exact) return result;
  const ElementType type = division_type(step.node);
  const auto round = [&](double value) { return rounded_to_type(type, value); };
  // A precision that is narrower than the operands: they are cast first, or the quotient is.
  const double narrow = round(scale);
  if (narrow != 0 && std::isfinite(narrow)) {
    result = hull(result, of_ends(x, [&](double end) { return quotient(round(end), narrow); }));
  }
  return hull(result, {round(result.lo), round(result.hi)});
}

// Integers plus a zero point, saturated.
Interval saturated(Interval integers, std::int32_t zero_point, IntegerRange range) {
  const auto [least, largest] = interval_of(range);
  return {std::clamp(integers.lo + zero_point, least, largest), std::clamp(integers.hi + zero_point, least, largest)};
}

// rne(quotient) + zero point, saturated.
Interval integers(Interval quotient, std::int32_t zero_point, IntegerRange range) {
  return saturated({round_half_even(quotient.lo), round_half_even(quotient.hi)}, zero_point, range);
}

// Returns rounded quotient + zero point, saturated, as an integer multiplier gives it: its shifts move the quotient by
// up to `error`, and ties go either way.
Interval fixed_point_integers(Interval quotient, double error, std::int32_t zero_point, IntegerRange range) {
  constexpr double kMultiplier = 0x1p-31 + 0x1p-50;
  const double lo = quotient.lo - std::fabs(quotient.lo) * kMultiplier - error;
  const double hi = quotient.hi + std::fabs(quotient.hi) * kMultiplier + error;
  return saturated({std::ceil(lo - 0.5), std::floor(hi + 0.5)}, zero_point, range);
}

// The numbers of a small float format between the rounded ends.
Interval floats(Interval quotient, ElementType type, bool saturate) {
  const FloatFormat& format = float_format(type);
  const double largest = decode(format, format.largest());
  if (!saturate && (quotient.lo < -largest || quotient.hi > largest)) return kOpen;
  const auto nearest = [&](double end) { return decode(format, encode(format, end, Overflow::saturate)); };
  return {nearest(quotient.lo), nearest(quotient.hi)};
}

// A Q whose input is stated keeps its own rules (Q1 to Q8).
Interval of_stated(const Quantize& step, ElementType x_type, double x, std::size_t parameter) {
  const std::uint64_t bits = x_type == ElementType::int32 ? static_cast<std::uint64_t>(integer_or_zero(x)) & 0xFFFFFFFFU
                                                          : encode(float_format(x_type), x, Overflow::special);
  const RightValues right = admissible_quantize(step.node, bits, parameter, Wording::onnx);
  if (right.any_value) return kOpen;
  Interval result{kInfinity, -kInfinity};
  for (const RightValues::Range& pattern : right.ranges) {
    const double value = value_of(right.type, pattern.lo);
    if (std::isnan(value)) return kOpen;
    result = hull(result, {value, value});
  }
  return result;
}

// A reciprocal and its product, in the place of a division.
constexpr int kQuotientRoundings = 2;

bool is_valid(double scale) {
  return std::isfinite(scale) && scale != 0;
}

// Whether rule D2 rounds a difference x - x_zero_point before its product with the scale.
bool has_rounded_difference(const Dequantize& step, const StepView& view) {
  const Spread& x = *view.operands[0];
  const double exact_up_to = std::ldexp(1, view.bits());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double zero_point = step.node.x_zero_point[step.node.layout.parameter_of(static_cast<std::int64_t>(i))];
    if (!is_integer(step.node.x_type) && zero_point != 0) return true;  // float8 has many exponents
    if (zero_point != std::floor(zero_point)) return true;
    if (std::max(std::fabs(x.lo[i] - zero_point), std::fabs(x.hi[i] - zero_point)) > exact_up_to) return true;
  }
  return false;
}

// difference * scale, before a chain's own roundings.
Interval dequantized(const DequantizeLinear& node, const StepView& view, Interval difference, double scale,
                     bool is_fractional = false) {
  const auto of = [&](auto operand) {
    return of_ends(difference, [&](double end) { return product(operand(end), scale); });
  };
  const Interval exact = of([](double end) { return end; });
  const bool has_wide_difference =
      node.x_type == ElementType::int32 || !is_integer(node.x_type) || view.bits() < 24 || is_fractional;
  if (!has_wide_difference || view.tier == Tier::exact) return exact;
  // Rule D2 rounds the difference to y's type first; where that overflows, the product is no number.
  const double limit = overflow_of(node.y_type);
  if (difference.lo <= -limit || difference.hi >= limit) return kOpen;
  if (view.carries_chain()) return exact;  // counted by has_rounded_difference()
  return hull(exact, of([&](double end) { return rounded_to_type(node.y_type, end); }));
}

}  // namespace

Spread spread_of(const Quantize& step, const StepView& view) {
  const Spread& x = *view.operands[0];
  const QuantizeLinear& node = step.node;
  const ElementType x_type = view.value(0).type;
  const int bits = precision_of(x_type);
  Spread y(x.size());
  if (view.program.may_be_exact) y.unit = 0;
  std::vector<double> shifts;
  if (view.tier == Tier::fused_fixed_point) shifts = fixed_point_errors(step, view);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t parameter = node.layout.parameter_of(static_cast<std::int64_t>(i));
    const double scale = node.y_scale[parameter];
    const Interval ends = x.ends(i, bits, kQuotientRoundings);
    if (!is_valid(scale) || ends.is_open() || std::isnan(ends.lo)) {
      // NaN may become anything, but what is stored is an element of y.
      y.set(i, is_integer(node.y_type) ? interval_of(range_of(node.y_type)) : kOpen);
      continue;
    }
    if (x.is_stated) {
      y.set(i, of_stated(step, x_type, x.lo[i], parameter));
      continue;
    }
    const bool is_exact =
        x.is_exact(i, std::min(bits, precision_of(division_type(node)))) && is_power_of_two(std::fabs(scale));
    const Interval q = quotients(step, view, ends, scale, is_exact);
    y.set(i, is_integer(node.y_type) ? integers(q, node.y_zero_point[parameter], range_of(node.y_type))
                                     : floats(q, node.y_type, node.saturate));
    if (shifts.empty() || shifts[i] < 0 || !is_integer(node.y_type)) continue;
    // An integer sum has no roundings of its own.
    const Interval exact = of_ends(x.at(i), [&](double end) { return quotient(end, scale); });
    const Interval shifted =
        fixed_point_integers(exact, shifts[i], node.y_zero_point[parameter], range_of(node.y_type));
    y.set(i, hull(y.at(i), shifted));
  }
  return y;
}

Spread spread_of(const Dequantize& step, const StepView& view) {
  const Spread& x = *view.operands[0];
  const DequantizeLinear& node = step.node;
  Spread y(x.size());
  const bool carries_chain = view.carries_chain();
  if (carries_chain) {
    y.magnitude.resize(x.size());
    y.terms = has_rounded_difference(step, view) ? 2 : 1;
  }
  const std::optional<int> unit = finer(finer(x.unit, 0), finest_unit(node.x_zero_point));
  if (view.program.may_be_exact && unit) y.unit = *unit + *finest_unit(node.x_scale);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t parameter = node.layout.parameter_of(static_cast<std::int64_t>(i));
    const double scale = node.x_scale[parameter];
    const double zero_point = node.x_zero_point[parameter];
    Interval result = kOpen;
    if (is_valid(scale) && std::isfinite(zero_point) && !x.at(i).is_open()) {
      const Interval difference{x.lo[i] - zero_point, x.hi[i] - zero_point};
      result = dequantized(node, view, difference, scale, zero_point != std::floor(zero_point));
      // Rule D3: the difference of int32 may wrap.
      if (node.x_type == ElementType::int32 && view.tier != Tier::exact) {
        result = hull(result, dequantized(node, view, wrapped_to_32_bits(difference), scale));
      }
      if (carries_chain && std::fabs(scale) < kSmallestKept) result = hull(result, {0, 0});
      result = carries_chain ? view.within_range(view.underflowed(result)) : view.rounded(result);
    }
    y.set(i, result);
    if (carries_chain) y.magnitude[i] = std::max(std::fabs(result.lo), std::fabs(result.hi));
  }
  return y;
}

// Sets of integer products: their requantization, what DynamicQuantizeLinear computes, and TopK.

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
    const Interval whole = interval_of(parameters.y_range);
    if (x.at(i).is_open()) {
      y.set(i, whole);
      continue;
    }
    const auto of = [&](double sum) {
      const AdmissibleSet set = requantized(static_cast<std::int64_t>(sum), parameters, view.tier);
      return interval_of({set.smallest(), set.largest()});
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
  const Interval whole = interval_of(range_of(type));
  const auto clamped = [&](double end, double zero) {
    if (std::isnan(end + zero)) return whole.lo;
    const double integer = std::fabs(end) < 0x1p40 ? round_half_even(end) : end;
    return std::clamp(integer + zero, whole.lo, whole.hi);
  };
  if (quotient.is_open() || zero_point.is_open()) return whole;
  return {clamped(quotient.lo, zero_point.lo), clamped(quotient.hi, zero_point.hi)};
}

namespace {

// A row of TopK, with the smallest elements as the largest of their opposites.
class TopRow {
 public:
  TopRow(const TopK& step, const StepView& view, std::size_t first) {
    for (std::int64_t j = 0; j < step.length; ++j) {
      const Interval x = view.ends(0, first + static_cast<std::size_t>(j * step.inner));
      elements_.push_back(step.smallest ? negative(x) : x);
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
    y.set(i, step.smallest ? negative(found) : found);
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
