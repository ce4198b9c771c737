// Sets behind QuantizeLinear and DequantizeLinear.
#include "reference/graph/evaluation.h"
#include "reference/numerics/round.h"
#include "reference/numerics/small_float.h"

namespace qconform::reference::graph {
namespace {

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::fabs(std::frexp(value, &exponent)) == 0.5;
}

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

// rne(quotient) + zero point, saturated.
Interval integers(Interval quotient, std::int32_t zero_point, IntegerRange range) {
  const auto clamped = [&](double end) {
    return std::clamp(round_half_even(end) + zero_point, static_cast<double>(range.lo), static_cast<double>(range.hi));
  };
  return {clamped(quotient.lo), clamped(quotient.hi)};
}

// Returns rounded quotient + zero point, saturated, as an integer multiplier gives it: its shifts move the quotient by
// up to `error`, and ties go either way.
Interval fixed_point_integers(Interval quotient, double error, std::int32_t zero_point, IntegerRange range) {
  constexpr double kMultiplier = 0x1p-31 + 0x1p-50;
  const double lo = quotient.lo - std::fabs(quotient.lo) * kMultiplier - error;
  const double hi = quotient.hi + std::fabs(quotient.hi) * kMultiplier + error;
  const auto clamped = [&](double integer) {
    return std::clamp(integer + zero_point, static_cast<double>(range.lo), static_cast<double>(range.hi));
  };
  return {clamped(std::ceil(lo - 0.5)), clamped(std::floor(hi + 0.5))};
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
  const AdmissibleBits set = admissible_quantize(step.node, bits, parameter, Wording::onnx);
  if (set.any_value()) return kOpen;
  const ElementType type = step.node.y_type;
  Interval result{kInfinity, -kInfinity};
  for (const std::uint32_t member : set.members()) {
    double value = member;
    if (!is_integer(type)) {
      value = decode(float_format(type), member);
      if (std::isnan(value)) return kOpen;
    } else if (is_signed_integer(type) && member >> (bits_of(type) - 1) != 0) {
      value -= std::ldexp(1, bits_of(type));
    }
    result = hull(result, {value, value});
  }
  return result;
}

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
    if (std::max(std::fabs(x.lo[i] - zero_point), std::fabs(x.hi[i] - zero_point)) > exact_up_to) return true;
  }
  return false;
}

// difference * scale, before a chain's own roundings.
Interval dequantized(const DequantizeLinear& node, const StepView& view, Interval difference, double scale) {
  const auto of = [&](auto operand) {
    return of_ends(difference, [&](double end) { return product(operand(end), scale); });
  };
  const Interval exact = of([](double end) { return end; });
  const bool has_wide_difference = node.x_type == ElementType::int32 || !is_integer(node.x_type) || view.bits() < 24;
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
    const Interval ends = x.ends(i, bits);
    if (!is_valid(scale) || ends.is_open() || std::isnan(ends.lo)) {
      // NaN may become anything, but what is stored is an element of y.
      y.set(i, is_integer(node.y_type) ? Interval{static_cast<double>(range_of(node.y_type).lo),
                                                  static_cast<double>(range_of(node.y_type).hi)}
                                       : kOpen);
      continue;
    }
    if (x.is_stated) {
      y.set(i, of_stated(step, x_type, x.lo[i], parameter));
      continue;
    }
    const bool is_exact = x.is_exact(i, std::min(bits, precision_of(division_type(node)))) && is_power_of_two(scale);
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
      result = dequantized(node, view, difference, scale);
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

}  // namespace qconform::reference::graph
