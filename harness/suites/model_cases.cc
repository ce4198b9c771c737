#include "harness/suites/model_cases.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "harness/model/draws/rng.h"
#include "harness/model/operator.h"
#include "harness/onnx/constant_folding.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/shape_propagation.h"
#include "harness/suites/model_activations.h"
#include "harness/suites/model_nodes.h"
#include "harness/suites/model_units.h"

namespace qconform {
namespace {

/// A node that is a case by itself.
struct SingleNode {
  const GraphScope* scope;
  const onnx::NodeProto* node;
  std::uint64_t position;  // as ModelNodes counts
};

/// Nodes in their order, the bodies of a node's graph after the whole graph.
void walk(const GraphScope& scope, std::uint64_t& position, std::vector<SingleNode>& nodes) {
  for (const onnx::NodeProto& node : scope.graph().node()) {
    if (find_operator(node.domain(), node.op_type()) != nullptr) nodes.push_back({&scope, &node, position});
    ++position;
  }
  for (const auto& body : scope.bodies()) walk(*body, position, nodes);
}

/// "3 MatMulInteger (operator: ...)" for each operator and reason.
std::string left_out_text(const NodeCoverage& coverage) {
  std::string text;
  for (const UncoveredNodes& part : coverage.uncovered) {
    text += (text.empty() ? "" : ", ") + std::to_string(part.nodes) + " " + part.op_type + " (" + part.reason + ")";
  }
  return text;
}

/// Summaries group what is skipped by what stands before the first colon.
std::string without_colons(std::string text) {
  std::replace(text.begin(), text.end(), ':', ',');
  return text;
}

}  // namespace

struct ModelCases::State {
  std::filesystem::path file;
  std::uint64_t seed = 0;
  onnx::ModelProto model;
  std::unique_ptr<GraphScope> scope;
  std::vector<SingleNode> nodes;
  std::vector<ModelUnit> units;
  std::optional<ModelNodes> all;  // after open()
  std::size_t next = 0;           // position among the nodes, then the units
  ModelActivations activations;
  std::string why_drawn;

  Result<void> read(const ModelOptions& options);
  // Sets the activations; an error where they must be computed and cannot be.
  Result<void> choose_activations(const ModelOptions& options);
};

Result<void> ModelCases::State::read(const ModelOptions& options) {
  QCONFORM_TRY(read_model(file, model));
  if (!model.has_graph()) return fail(file.string(), "has no graph");
  scope = std::make_unique<GraphScope>(model.graph());
  std::uint64_t position = 0;
  walk(*scope, position, nodes);
  QCONFORM_TRY(in_context(file.string(), fold_constants(*scope, file.parent_path())));
  options.tell("finding the shapes in " + file.filename().string());
  propagate_shapes(model, *scope);
  QCONFORM_TRY(in_context(file.string(), check_sizes(*scope)));
  units = units_of(*scope, options.context);
  std::set<std::size_t> in_units;
  for (const ModelUnit& unit : units) in_units.insert(unit.nodes.begin(), unit.nodes.end());
  all.emplace(model, *scope, in_units);
  return {};
}

Result<void> ModelCases::State::choose_activations(const ModelOptions& options) {
  activations.origin = "activations drawn from seed " + std::to_string(seed);
  if (options.activations == ModelOptions::Activations::drawn) return {};
  options.tell("running " + file.filename().string());
  auto computed = compute_activations(model, *scope,
                                      {.folder = file.parent_path(),
                                       .files = options.inputs,
                                       .seed = seed,
                                       .also = values_around(units),
                                       .memory = options.memory});
  if (computed) {
    activations = std::move(*computed);
  } else if (options.activations == ModelOptions::Activations::computed || computed.error().rule == "limit") {
    return tl::unexpected(computed.error().in(file.string()));
  } else {
    why_drawn = without_colons(computed.error().text());
  }
  return {};
}

ModelCases::ModelCases(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModelCases::~ModelCases() = default;

Result<std::unique_ptr<ModelCases>> ModelCases::open(const std::filesystem::path& file, std::uint64_t seed,
                                                     const ModelOptions& options) {
  auto state = std::make_unique<State>();
  state->file = file;
  state->seed = seed;
  QCONFORM_TRY(state->read(options));
  if (state->all->quantized() == 0) {
    return fail(file.string(), "has no quantized node; it has " + state->all->others_text());
  }
  const bool has_cases = !state->nodes.empty() || !state->units.empty();
  if (has_cases) QCONFORM_TRY(state->choose_activations(options));
  if (!has_cases && options.activations == ModelOptions::Activations::computed) {
    return fail(file.string(),
                "no case can be made of its quantized nodes: " + left_out_text(state->all->coverage(nullptr)));
  }
  return std::unique_ptr<ModelCases>(new ModelCases(std::move(state)));
}

std::string ModelCases::name() const {
  const std::string name = "model:" + state_->file.string();
  return state_->activations.values.empty() ? name : name + ", " + origin();
}

const std::string& ModelCases::origin() const {
  return state_->activations.origin;
}

const std::string& ModelCases::why_drawn() const {
  return state_->why_drawn;
}

const std::vector<ModelNodes::Entry>& ModelCases::nodes() const {
  return state_->all->entries();
}

std::size_t ModelCases::size() const {
  return state_->nodes.size() + state_->units.size();
}

Result<std::optional<ModelStep>> ModelCases::next() {
  if (state_->next >= state_->nodes.size()) return next_unit();
  const auto& [scope, node, position] = state_->nodes[state_->next++];
  const std::string label = node->name().empty() ? node->op_type() : printable(node->name());
  Rng rng(state_->seed, position);
  auto answer = case_from_model_node(state_->model, *node, *scope, state_->file.parent_path(),
                                     state_->activations.values, OnnxModelSuite::kGeneratedElements, rng);
  if (!answer) return tl::unexpected(answer.error().in(state_->file.string() + ": node " + label));
  ModelStep step{.test_case = {}, .positions = {position}, .reason = {}};
  if (const auto* skipped = std::get_if<SkippedNode>(&*answer)) {
    step.reason = skipped->reason;
    return std::optional(std::move(step));
  }
  Case& result = step.test_case.emplace(std::move(std::get<Case>(*answer)));
  result.id = label + "#" + std::to_string(position);
  result.tags = {"model"};
  if (result.recorded_output() != nullptr) {
    result.note = state_->activations.origin;
  } else if (const auto first = state_->scope->assumed_first_dimension().value_or(kAssumedBatch);
             first != kAssumedBatch) {
    result.note +=
        (result.note.empty() ? "" : "; ") + ("first dimension of the model's inputs assumed: " + std::to_string(first));
  }
  result.provenance = {name(), state_->seed, position};
  return std::optional(std::move(step));
}

Result<std::optional<ModelStep>> ModelCases::next_unit() {
  if (state_->next >= size()) return std::optional<ModelStep>();
  const ModelUnit& unit = state_->units[state_->next++ - state_->nodes.size()];
  Rng rng(state_->seed, state_->nodes.size() + unit.quantize);
  auto answer = case_from_unit(state_->model, unit, *state_->scope, state_->file.parent_path(),
                               state_->activations.values, OnnxModelSuite::kGeneratedElements, rng);
  if (!answer) return tl::unexpected(answer.error().in(state_->file.string() + ": unit " + unit.name));
  ModelStep step{.test_case = {}, .positions = unit.nodes, .reason = {}, .is_unit = true};
  if (const auto* skipped = std::get_if<SkippedNode>(&*answer)) {
    step.reason = skipped->reason;
    return std::optional(std::move(step));
  }
  Case& result = step.test_case.emplace(std::move(std::get<Case>(*answer)));
  result.id = unit.name + ".unit#" + std::to_string(unit.quantize);
  result.tags = {"model", "unit"};
  if (!result.recorded_outputs.empty()) {
    result.note = state_->activations.origin + (result.note.empty() ? "" : "; ") + result.note;
  }
  result.provenance = {name(), state_->seed, unit.quantize};
  return std::optional(std::move(step));
}

}  // namespace qconform
