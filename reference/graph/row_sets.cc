// Sets behind what looks at whole rows: Softmax and ArgMax.
#include "reference/graph/evaluation.h"
#include "reference/graph/fused_units.h"

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
    std::visit([&](const auto& taps) { taps.for_each(static_cast<std::int64_t>(i), take); }, sum->taps);
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
  const auto index = [&](std::size_t operand, std::size_t i) {
    const bool is_listed = add.index.size() > operand && !add.index[operand].empty();
    return is_listed ? static_cast<std::size_t>(add.index[operand][i]) : i;
  };
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
