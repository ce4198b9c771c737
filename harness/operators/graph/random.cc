// Random quantized graphs: which steps a graph is made of.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/graph.h"
#include "harness/operators/graph/graph_draft.h"

namespace qconform::drawn_graphs {
namespace {

constexpr std::int64_t kOpsets[] = {10, 11, 13, 13, 13, 14, 17, 18, 19, 21, 21, 23, 24, 25};
constexpr std::uint64_t kGraphBlock = 64;

const std::vector<WeightedStep>& all_steps() {
  static const std::vector<WeightedStep> all = [] {
    std::vector<WeightedStep> steps;
    for (const auto& some : {product_steps(), integer_steps(), element_steps(), microsoft_steps()}) {
      steps.insert(steps.end(), some.begin(), some.end());
    }
    return steps;
  }();
  return all;
}

// Returns the weights of the choices in one block of graphs: every choice as usual, left out, or common.
std::vector<std::uint32_t> weights_of(std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed ^ 0x6772'6170'6873'0000U, index / kGraphBlock);
  std::vector<std::uint32_t> weights;
  for (const WeightedStep& step : all_steps()) {
    const std::uint64_t turn = rng.below(4);
    weights.push_back(step.weight * (turn == 0 ? 0 : turn == 1 ? 4 : 1));
  }
  return weights;
}

Step draw_step(Rng& rng, const std::vector<std::uint32_t>& weights) {
  const std::vector<WeightedStep>& steps = all_steps();
  std::uint32_t total = 0;
  for (const std::uint32_t weight : weights) total += weight;
  if (total == 0) return steps[rng.below(static_cast<std::uint32_t>(steps.size()))].step;
  auto choice = static_cast<std::uint32_t>(rng.below(total));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (choice < weights[i]) return steps[i].step;
    choice -= weights[i];
  }
  return steps.front().step;
}

Shape draw_shape(Rng& rng) {
  switch (rng.below(4)) {
    case 0: return {rng.between(1, 5), rng.between(1, 16)};
    case 1: return {1, rng.between(1, 6), rng.between(2, 9)};
    default: return {rng.chance(1, 4) ? 2 : 1, rng.between(1, 6), rng.between(2, 6), rng.between(2, 6)};
  }
}

// Ends a graph with the place of the largest or smallest number along an axis, which is an integer. Half of them read
// data whose scale may be negative: the largest code is the smallest number then.
std::optional<std::string> place_of_extreme(GraphDraft& d, const Wire& last) {
  Wire x = last;
  if (d.rng.chance(1, 2)) {
    const Wire q = d.codes(d.bytes(draw_shape(d.rng)), true);
    const std::int64_t zp = d.zero_point(q.type);
    const float sign = d.rng.chance(1, 2) ? -1.0F : 1.0F;
    x = d.dequantize(q, sign * d.draw_scale(), zp);
  }
  const auto axis = static_cast<std::int64_t>(d.rng.below(static_cast<std::uint32_t>(x.shape.size())));
  std::vector<Attribute> attributes{{"axis", axis}};
  if (d.opset() >= 12 && d.rng.chance(1, 3)) attributes.push_back({"select_last_index", std::int64_t{1}});
  const std::string place = d.build.node(d.rng.chance(1, 2) ? "ArgMax" : "ArgMin", {x.name}, std::move(attributes));
  return d.see(place, reference::Tier::exact) ? std::optional(place) : std::nullopt;
}

// Quantized x, then units: DQ, one compute node or two, Q.
Case draw_graph(std::uint64_t seed, std::uint64_t index) {
  const std::int64_t opset_version = Rng(seed + 1, index).pick(kOpsets);
  GraphDraft draft(seed, index, opset_version);
  const auto weights = weights_of(seed, index);
  Rng& rng = draft.rng;
  if (rng.chance(1, 32)) return draw_alone(draft);
  Wire x = draft.operand(draw_shape(rng), true);
  std::vector<std::string> outputs;
  std::string also;  // an inner value that is an output of the graph too
  const std::int64_t wanted = rng.chance(1, 2) ? rng.between(1, 2) : rng.between(1, 8);
  std::int64_t steps = 0;
  for (int attempt = 0; steps < wanted && attempt < 24; ++attempt) {
    const std::size_t nodes = draft.build.node_count();
    const std::size_t initializers = draft.build.initializer_count();
    auto y = draw_step(rng, weights)(draft, x);
    if (!y) {
      draft.build.keep(nodes, initializers);
      continue;
    }
    ++steps;
    const bool is_last = steps == wanted;
    const bool is_shown = !is_last && rng.chance(1, 16);
    if (!is_last && rng.chance(1, 3)) {  // a second compute node in the unit
      if (is_shown) also = y->name;
      x = std::move(*y);
      continue;
    }
    auto q = draft.quantize(*y, !is_last);
    if (!q) {
      draft.build.keep(nodes, initializers);
      --steps;
      continue;
    }
    outputs = {q->name};
    if (is_shown) also = y->name;
    if (!is_last && rng.chance(1, 12)) also = q->name;
    x = draft.dequantize(*q, static_cast<float>(q->scale), draft.last_zero_point());
    if (is_last && rng.chance(1, 8)) outputs = {x.name};
    if (is_last && rng.chance(1, 12)) also = y->name;
  }
  if (outputs.empty()) {
    const auto q = draft.quantize(x, false);
    outputs = {q ? q->name : x.name};
  }
  if (rng.chance(1, 24)) {
    if (const auto place = place_of_extreme(draft, x)) outputs = {*place};
  }
  if (!also.empty() && also != outputs.front()) outputs.push_back(also);
  return draft.build.build(outputs);
}

}  // namespace
}  // namespace qconform::drawn_graphs

namespace qconform {

Case graph_case(std::uint64_t seed, std::uint64_t index) {
  Case result = pruned(drawn_graphs::draw_graph(seed, index));
  result.id = "graphs-" + std::to_string(seed) + "-" + std::to_string(index);
  // Runtimes whose models have bodies of operators put the nodes there.
  Rng rng(seed + 3, index);
  if (rng.chance(1, 16)) result.id += rng.chance(1, 2) ? ".branches" : ".loop";
  result.expectation = Expectation::valid;
  result.provenance = {"graphs", seed, index};
  return result;
}

}  // namespace qconform
