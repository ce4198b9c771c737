#include "harness/engine/model_run.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace qconform {
namespace {

struct JudgedLayer {
  const ModelLayer* layer;
  const CaseResult::OfBackend* answer;
};

std::vector<JudgedLayer> judged_layers(const ModelFacts& facts, const Report& report) {
  std::map<std::string_view, const CaseResult*> by_id;
  if (report.results) {
    for (const CaseResult& row : report.results->rows) by_id.emplace(row.id, &row);
  }
  std::vector<JudgedLayer> layers;
  for (const ModelLayer& layer : facts.layers) {
    const auto found = by_id.find(layer.id);
    if (found == by_id.end() || found->second->backends.empty()) continue;
    layers.push_back({&layer, &found->second->backends.front()});
  }
  std::stable_sort(layers.begin(), layers.end(),
                   [](const auto& a, const auto& b) { return a.layer->position < b.layer->position; });
  return layers;
}

LayerState state_of(VerdictKind verdict, bool is_behind) {
  if (is_failure(verdict)) return is_behind ? LayerState::wrong_behind : LayerState::wrong;
  if (verdict != VerdictKind::pass && verdict != VerdictKind::vacuous) return LayerState::not_judged;
  return is_behind ? LayerState::fed_wrong : LayerState::right;
}

}  // namespace

ModelRun model_run(const ModelFacts& facts, const std::map<std::string, ElementReport>& worst, const Report& report) {
  const std::string backend = report.backends.empty() ? "" : report.backends.front().info.name;
  ModelRun run;
  run.backend = backend;
  run.origin = facts.origin;
  run.disturbed = facts.disturbed;
  const std::vector<JudgedLayer> layers = judged_layers(facts, report);
  std::set<std::size_t> wrong;
  for (const auto& [layer, answer] : layers) {
    if (is_failure(answer->verdict)) wrong.insert(layer->number);
  }
  for (const auto& [layer, answer] : layers) {
    const bool is_behind = std::any_of(layer->behind.begin(), layer->behind.end(),
                                       [&](std::size_t number) { return wrong.contains(number); });
    ModelLayerResult& result = run.layers.emplace_back();
    result.id = layer->id;
    result.state = state_of(answer->verdict, is_behind);
    result.elements = static_cast<std::uint64_t>(layer->elements);
    result.wrong_elements = answer->wrong_elements;
    result.finding = answer->finding;
    if (const auto found = worst.find(layer->id); found != worst.end()) result.worst = found->second;
  }
  return run;
}

}  // namespace qconform
