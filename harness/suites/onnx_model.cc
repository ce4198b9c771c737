#include "harness/suites/onnx_model.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "harness/onnx/constant_folding.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf_file.h"
#include "harness/onnx/shape_propagation.h"
#include "harness/operators/operator.h"
#include "harness/suites/model_activations.h"
#include "harness/suites/model_node.h"
#include "harness/suites/model_nodes.h"
#include "harness/suites/model_units.h"
#include "harness/suites/rng.h"

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

struct OnnxModelSuite::State {
  std::filesystem::path file;
  std::uint64_t seed = 0;
  onnx::ModelProto model;
  std::unique_ptr<GraphScope> scope;
  std::vector<SingleNode> nodes;
  std::vector<ModelUnit> units;
  std::optional<ModelNodes> all;  // after open()
  std::size_t next = 0;           // of the nodes, then of the units
  ModelActivations activations;

  // Sets the activations; an error where they must be computed and cannot be.
  Result<void> choose_activations(const ModelOptions& options, SkippedCounts& skipped);
};

Result<void> OnnxModelSuite::State::choose_activations(const ModelOptions& options, SkippedCounts& skipped) {
  activations.origin = "activations drawn from seed " + std::to_string(seed);
  if (options.activations == ModelOptions::Activations::drawn) return {};
  auto computed = compute_activations(model, *scope, file.parent_path(), options.inputs, seed, values_around(units));
  if (computed) {
    activations = std::move(*computed);
  } else if (options.activations == ModelOptions::Activations::computed) {
    return tl::unexpected(computed.error().in(file.string()));
  } else {
    ++skipped["a run of the model, activations are drawn instead (" + without_colons(computed.error().text()) + ")"];
  }
  return {};
}

OnnxModelSuite::OnnxModelSuite(std::unique_ptr<State> state) : state_(std::move(state)) {}
OnnxModelSuite::~OnnxModelSuite() = default;

Result<std::unique_ptr<OnnxModelSuite>> OnnxModelSuite::open(const std::filesystem::path& file, std::uint64_t seed,
                                                             const ModelOptions& options) {
  auto state = std::make_unique<State>();
  state->file = file;
  state->seed = seed;
  QCONFORM_TRY(read_message(file, state->model));
  if (!state->model.has_graph()) return fail(file.string(), "has no graph");
  state->scope = std::make_unique<GraphScope>(state->model.graph());
  std::unique_ptr<OnnxModelSuite> source(new OnnxModelSuite(std::move(state)));
  State& opened = *source->state_;
  std::uint64_t position = 0;
  walk(*opened.scope, position, opened.nodes);
  QCONFORM_TRY(in_context(file.string(), fold_constants(*opened.scope, file.parent_path())));
  propagate_shapes(opened.model, *opened.scope);
  opened.units = units_of(*opened.scope, options.context);
  std::set<std::size_t> in_units;
  for (const ModelUnit& unit : opened.units) in_units.insert(unit.nodes.begin(), unit.nodes.end());
  opened.all.emplace(opened.model, *opened.scope, in_units);
  if (opened.all->quantized() == 0) {
    return fail(file.string(), "has no quantized node; it has " + opened.all->others_text());
  }
  const bool has_cases = !opened.nodes.empty() || !opened.units.empty();
  if (has_cases) QCONFORM_TRY(opened.choose_activations(options, source->skipped_));
  if (!has_cases && options.activations == ModelOptions::Activations::computed) {
    return fail(file.string(),
                "no case can be made of its quantized nodes: " + left_out_text(opened.all->coverage(nullptr)));
  }
  return source;
}

std::string OnnxModelSuite::name() const {
  const std::string name = "model:" + state_->file.string();
  return state_->activations.values.empty() ? name : name + ", " + origin();
}

const std::string& OnnxModelSuite::origin() const {
  return state_->activations.origin;
}

std::optional<std::uint64_t> OnnxModelSuite::size() const {
  return state_->nodes.size() + state_->units.size();
}

Result<std::optional<Case>> OnnxModelSuite::next() {
  while (state_->next < state_->nodes.size()) {
    const auto& [scope, node, position] = state_->nodes[state_->next++];
    const std::string label = node->name().empty() ? node->op_type() : printable(node->name());
    Rng rng(state_->seed, position);
    auto answer = case_from_model_node(state_->model, *node, *scope, state_->file.parent_path(),
                                       state_->activations.values, kGeneratedElements, rng);
    if (!answer) {
      state_->next = state_->nodes.size();
      return tl::unexpected(answer.error().in(state_->file.string() + ": node " + label));
    }
    if (const auto* skipped = std::get_if<SkippedNode>(&*answer)) {
      state_->all->leave_out(position, skipped->reason);
      continue;
    }
    state_->all->add_case({position});
    Case& result = std::get<Case>(*answer);
    result.id = label + "#" + std::to_string(position);
    result.tags = {"model"};
    if (result.recorded_output() != nullptr) {
      result.note = state_->activations.origin;
    } else if (const auto first = state_->scope->assumed_first_dimension().value_or(kAssumedBatch);
               first != kAssumedBatch) {
      result.note += (result.note.empty() ? "" : "; ") +
                     ("first dimension of the model's inputs assumed: " + std::to_string(first));
    }
    result.provenance = {name(), state_->seed, position};
    return std::optional<Case>(std::move(result));
  }
  return next_unit();
}

Result<std::optional<Case>> OnnxModelSuite::next_unit() {
  while (state_->next < state_->nodes.size() + state_->units.size()) {
    const ModelUnit& unit = state_->units[state_->next++ - state_->nodes.size()];
    Rng rng(state_->seed, state_->nodes.size() + unit.quantize);
    auto answer = case_from_unit(state_->model, unit, *state_->scope, state_->file.parent_path(),
                                 state_->activations.values, kGeneratedElements, rng);
    if (!answer) return tl::unexpected(answer.error().in(state_->file.string() + ": unit " + unit.name));
    if (const auto* skipped = std::get_if<SkippedNode>(&*answer)) {
      ++skipped_["unit: " + skipped->reason];
      for (const std::size_t position : unit.nodes) state_->all->leave_out(position, skipped->reason);
      continue;
    }
    state_->all->add_case(unit.nodes);
    Case& result = std::get<Case>(*answer);
    result.id = unit.name + ".unit#" + std::to_string(unit.quantize);
    result.tags = {"model", "unit"};
    if (!result.recorded_outputs.empty()) {
      result.note = state_->activations.origin + (result.note.empty() ? "" : "; ") + result.note;
    }
    result.provenance = {name(), state_->seed, unit.quantize};
    return std::optional<Case>(std::move(result));
  }
  return std::optional<Case>();
}

std::optional<NodeCoverage> OnnxModelSuite::node_coverage(const std::vector<std::string>* why_not) const {
  NodeCoverage coverage = state_->all->coverage(why_not);
  coverage.suite = name();
  return coverage;
}

}  // namespace qconform
