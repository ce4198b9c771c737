#include "harness/operators/graph/dynamic_scales.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace qconform {
namespace {

namespace graph = reference::graph;

// By value: the step that computes it; null of one that is stated.
using Makers = std::vector<const graph::Step*>;

Makers makers_in(const graph::Program& program) {
  Makers makers(program.values.size(), nullptr);
  for (const graph::Step& step : program.steps) makers[step.result] = &step;
  return makers;
}

bool is_function(const graph::Step& step, graph::Function function) {
  const auto* found = std::get_if<graph::Elementwise>(&step.what);
  return found != nullptr && found->function == function;
}

// The number that an extreme of x, clipped at 0, is; nothing where x is computed.
std::optional<float> extreme_of(const graph::Program& program, const Makers& makers, const graph::Answers& given,
                                graph::ValueId clipped, bool smallest) {
  const graph::Step* clip = makers[clipped];
  const graph::Step* extreme = clip == nullptr ? nullptr : makers[clip->operands[0]];
  if (extreme == nullptr) return std::nullopt;
  const auto shown = given.find(extreme->operands[0]);
  const std::vector<double>& x = shown != given.end() ? shown->second : program.values[extreme->operands[0]].stated;
  if (x.empty() || std::any_of(x.begin(), x.end(), [](double value) { return !std::isfinite(value); })) {
    return std::nullopt;
  }
  const double found = smallest ? *std::min_element(x.begin(), x.end()) : *std::max_element(x.begin(), x.end());
  return static_cast<float>(smallest ? std::min(found, 0.0) : std::max(found, 0.0));
}

void add_pairs(float least, float scale, std::vector<DynamicPair>& pairs) {
  const float reciprocal = 1 / scale;
  for (const float quotient : {-least / scale, -least * reciprocal}) {
    const double zero_point = std::clamp(std::nearbyint(static_cast<double>(quotient)), 0.0, 255.0);
    const bool is_known = std::any_of(pairs.begin(), pairs.end(), [&](const DynamicPair& pair) {
      return pair.scale == static_cast<double>(scale) && pair.zero_point == zero_point;
    });
    if (!is_known) pairs.push_back({static_cast<double>(scale), zero_point});
  }
}

std::vector<DynamicPair> pairs_of(float least, float most) {
  const float range = most - least;
  if (range == 0) return {{1, 0}};
  std::vector<DynamicPair> pairs;
  // Beyond these the scale is implementation-defined.
  if (!std::isfinite(range) || range < 255 * 0x1p-126F) return pairs;
  add_pairs(least, range / 255, pairs);
  add_pairs(least, range * (1.0F / 255), pairs);
  return pairs;
}

}  // namespace

std::vector<DynamicScale> dynamic_scales(const graph::Program& program, const graph::Answers& given) {
  const Makers makers = makers_in(program);
  // The zero points by their scales: rounded quotients by the scale, of no dimension.
  std::map<graph::ValueId, graph::ValueId> zero_points;
  for (const graph::Step& step : program.steps) {
    if (!is_function(step, graph::Function::round_saturate) || !program.values[step.result].shape.empty()) continue;
    const graph::Step* quotient = makers[step.operands[0]];
    if (quotient != nullptr && is_function(*quotient, graph::Function::div)) {
      zero_points.emplace(quotient->operands[1], step.result);
    }
  }
  std::vector<DynamicScale> found;
  for (const graph::Step& step : program.steps) {
    const auto zero_point = zero_points.find(step.result);
    if (!is_function(step, graph::Function::dynamic_scale) || zero_point == zero_points.end()) continue;
    const auto most = extreme_of(program, makers, given, step.operands[0], false);
    const auto least = extreme_of(program, makers, given, step.operands[1], true);
    DynamicScale scale{step.result, zero_point->second, {}};
    if (most && least) {
      scale.range = {*least, *most};
      scale.pairs = pairs_of(*least, *most);
    }
    found.push_back(std::move(scale));
  }
  return found;
}

}  // namespace qconform
