// Sets of products whose activations may be narrower than they are: MatMulNBits and QMoE with an accuracy_level.
//
// Level 4: each block of a row of activations, along the summed axis, is quantized to codes c by its own largest
// magnitude a: scale a/127, c nearest to 127 A/a. A product is then the sum over blocks of a/127 * s * sum c (q - z).
// Sums of integers are exact. Kernels subtract z by sums of blocks, so that roundings are relative to the magnitudes of
// c q and c z, not to those of the differences.
#include "reference/graph/evaluation.h"

namespace qconform::reference::graph {
namespace {

const DequantizeLinear* dequantized_weights(const StepView& view) {
  for (const Step& step : view.program.steps) {
    if (step.result != view.step.operands[1]) continue;
    const auto* found = std::get_if<Dequantize>(&step.what);
    return found == nullptr ? nullptr : &found->node;
  }
  return nullptr;
}

// The magnitudes of an activation.
Interval sizes_of(Interval a) {
  const double lo = std::fabs(a.lo);
  const double hi = std::fabs(a.hi);
  return {a.lo <= 0 && a.hi >= 0 ? 0 : std::min(lo, hi), std::max(lo, hi)};
}

// The codes that an activation may have: both neighbours where its quotient may be a tie. No activation exceeds the
// largest of its block.
Interval codes_of(Interval a, Interval largest) {
  if (largest.hi == 0) return {0, 0};
  if (largest.lo == 0) return {-127, 127};
  const double lo = std::max(-127.0, 127 * a.lo / (a.lo < 0 ? largest.lo : largest.hi));
  const double hi = std::min(127.0, 127 * a.hi / (a.hi < 0 ? largest.hi : largest.lo));
  constexpr double kSlack = 3 * 0x1p-24;
  return {std::ceil(lo - std::fabs(lo) * kSlack - 0.5), std::floor(hi + std::fabs(hi) * kSlack + 0.5)};
}

struct BlockSum {
  Interval value{0, 0};
  double magnitude = 0;
};

/// One row of activations against one column of weights.
struct BlockedRow {
  const StepView& view;
  const DequantizeLinear& weights;
  const std::vector<double>& integers;  // the weights before they are dequantized
  bool is_known;                        // each activation is one number
  std::vector<std::int64_t> a{};
  std::vector<std::int64_t> w{};

  [[nodiscard]] Interval activation(std::size_t k) const {
    const auto at = static_cast<std::size_t>(a[k]);
    return is_known ? view.operands[0]->at(at) : view.ends(0, at);
  }

  // Nothing where an activation may be infinite.
  [[nodiscard]] std::optional<BlockSum> sum_of(std::size_t begin, std::size_t end) const {
    BlockSum block;
    Interval largest{0, 0};
    for (std::size_t k = begin; k < end; ++k) largest = larger(largest, sizes_of(activation(k)));
    if (!std::isfinite(largest.hi)) return std::nullopt;
    const auto least_scale = static_cast<double>(static_cast<float>(largest.lo / 127));
    const auto most_scale = static_cast<double>(static_cast<float>(largest.hi / 127));
    const std::size_t parameter = weights.layout.parameter_of(w[begin]);
    const double factor = (least_scale + most_scale) / 2 * weights.x_scale[parameter];
    const double drift = (most_scale - least_scale) / 2 * std::fabs(weights.x_scale[parameter]);
    const double zero_point = weights.x_zero_point[parameter];
    double middle = 0;
    double radius = 0;
    double size = 0;
    for (std::size_t k = begin; k < end; ++k) {
      const Interval code = codes_of(activation(k), largest);
      const double q = integers[static_cast<std::size_t>(w[k])];
      middle += (code.lo + code.hi) / 2 * (q - zero_point);
      radius += (code.hi - code.lo) / 2 * std::fabs(q - zero_point);
      size += std::max(std::fabs(code.lo), std::fabs(code.hi)) * (std::fabs(q) + std::fabs(zero_point));
    }
    const double moved = std::fabs(factor) * radius + drift * (std::fabs(middle) + radius);
    block.value = {factor * middle - moved, factor * middle + moved};
    block.magnitude = (std::fabs(factor) + drift) * size;
    return block;
  }
};

const std::vector<double>* weight_integers(const StepView& view) {
  for (const Step& step : view.program.steps) {
    if (step.result == view.step.operands[1]) return &view.program.values[step.operands[0]].stated;
  }
  return nullptr;
}

// Nothing where an activation may be infinite.
std::optional<Interval> blocked(const WeightedSum& sum, BlockedRow& row, std::size_t i) {
  const StepView& view = row.view;
  row.a.clear();
  row.w.clear();
  sum.for_each_term(i, [&](std::int64_t a, std::int64_t w) {
    row.a.push_back(a);
    row.w.push_back(w);
  });
  const auto block = static_cast<std::size_t>(sum.activation_block);
  Interval total{0, 0};
  double magnitude = 0;
  std::size_t blocks = 0;
  for (std::size_t begin = 0; begin < row.a.size(); begin += block, ++blocks) {
    const auto one = row.sum_of(begin, std::min(begin + block, row.a.size()));
    if (!one) return std::nullopt;
    total = {total.lo + one->value.lo, total.hi + one->value.hi};
    magnitude += one->magnitude;
  }
  if (!sum.c_index.empty()) {
    const auto at = static_cast<std::size_t>(sum.c_index[i]);
    const Interval bias = view.ends(view.operands.size() - 1, at);
    total = {total.lo + bias.lo, total.hi + bias.hi};
    magnitude += std::max(std::fabs(bias.lo), std::fabs(bias.hi));
  }
  // Sums in the lanes of vectors, and the factors of each block.
  const double m = 2 * static_cast<double>(blocks) + 32;
  const double unity = std::ldexp(1, std::min(24, view.bits()));
  const double radius = m / (unity - m) * magnitude + static_cast<double>(blocks + 2) * kSmallestKept;
  return Interval{below(total.lo - radius), above(total.hi + radius)};
}

// Activations rounded once more: each term moves by a part of itself.
Interval of_rounded(const WeightedSum& sum, const StepView& view, const Spread& y, std::size_t i) {
  const Spread& a = *view.operands[0];
  const Spread& b = *view.operands[1];
  double moved = 0;
  sum.for_each_term(i, [&](std::int64_t at_a, std::int64_t at_b) {
    moved += a.magnitude_at(static_cast<std::size_t>(at_a)) * b.magnitude_at(static_cast<std::size_t>(at_b));
  });
  moved *= std::ldexp(1, -sum.activation_bits) * (1 + 0x1p-20);
  const Interval ends = y.ends(i, view.bits());
  return {below(ends.lo - moved), above(ends.hi + moved)};
}

}  // namespace

void include_narrow_activations(const WeightedSum& sum, const StepView& view, Spread& y) {
  const Spread& a = *view.operands[0];
  const DequantizeLinear* weights = dequantized_weights(view);
  const std::vector<double>* integers = weights == nullptr ? nullptr : weight_integers(view);
  const bool has_integers = integers != nullptr && !integers->empty();
  std::vector<Interval> wider(y.size());
  std::optional<BlockedRow> row;
  if (has_integers && sum.activation_block > 0) row.emplace(BlockedRow{view, *weights, *integers, a.lo == a.hi});
  for (std::size_t i = 0; i < y.size(); ++i) {
    wider[i] = y.ends(i, view.bits());
    if (wider[i].is_open()) continue;
    if (row) {
      const auto found = blocked(sum, *row, i);
      wider[i] = found ? hull(wider[i], *found) : kOpen;
    } else if (sum.activation_block > 0) {
      wider[i] = kOpen;
    } else {
      wider[i] = of_rounded(sum, view, y, i);
    }
  }
  for (std::size_t i = 0; i < y.size(); ++i) y.set(i, wider[i]);
  y.magnitude.clear();
  y.terms = y.extra = 0;
}

}  // namespace qconform::reference::graph
