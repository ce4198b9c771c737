#include "harness/operators/graph/pipeline.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/graph.h"

namespace qconform::diagnose {
namespace {

namespace graph = reference::graph;

constexpr const Stage<graph_stage::Rewrite>* kPasses[] = {
    &graph_stage::pairs,      &graph_stage::signs,   &graph_stage::movement, &graph_stage::activations,
    &graph_stage::parameters, &graph_stage::weights, &graph_stage::biases};

// The stages that a model replaces.
class Replaced {
 public:
  explicit Replaced(const Stages& stages) : all_(stages.replaced()) {}
  [[nodiscard]] bool has(const StageInfo& stage) const {
    return std::find(all_.begin(), all_.end(), &stage) != all_.end();
  }

 private:
  std::vector<const StageInfo*> all_;
};

std::vector<bool> constant_values(const Case& test_case, const GraphProgram& lowered) {
  const auto begin = test_case.input_names.begin() + static_cast<std::ptrdiff_t>(test_case.fed_inputs);
  const std::set<std::string_view> names(begin, test_case.input_names.end());
  std::vector<bool> constant;
  for (const std::string& name : lowered.names) constant.push_back(names.contains(name));
  return constant;
}

// Computes the program with kernels in the place of some steps.
class GraphRun {
 public:
  GraphRun(const Case& test_case, const GraphProgram& lowered, const Stages& stages)
      : stages_(stages), program_(lowered.program), is_constant_(constant_values(test_case, lowered)) {
    compute();
  }

  std::vector<GraphElements> run() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      GraphChange change = change_of(i);
      if (!change.result && change.operands.empty()) continue;
      has_changed_ = true;
      for (auto& [operand, elements] : change.operands) {
        const graph::Value& before = program_.values[program_.steps[i].operands[operand]];
        program_.values.push_back({before.type, before.shape, std::move(elements)});
        is_constant_.push_back(false);
        program_.steps[i].operands[operand] = program_.values.size() - 1;
      }
      if (change.result) {
        program_.values[program_.steps[i].result].stated = std::move(*change.result);
        program_.steps.erase(program_.steps.begin() + static_cast<std::ptrdiff_t>(i--));
      }
      compute();
    }
    return std::move(values_);
  }
  /// Whether some kernel computed a step in its own way.
  [[nodiscard]] bool has_changed() const { return has_changed_; }

 private:
  void compute() {
    values_ = stages_.get(graph_stage::numbers)(program_);
    made_by_.assign(program_.values.size(), std::nullopt);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) made_by_[program_.steps[i].result] = i;
  }

  [[nodiscard]] GraphChange change_of(std::size_t number) const {
    const GraphStep step{program_, number, values_, is_constant_, made_by_};
    if (std::holds_alternative<graph::WeightedSum>(step.step().what)) return stages_.get(graph_stage::sum)(step);
    if (std::holds_alternative<graph::Quantize>(step.step().what)) return stages_.get(graph_stage::quantize)(step);
    return {};
  }

  bool has_changed_ = false;
  const Stages& stages_;
  graph::Program program_;
  std::vector<bool> is_constant_;
  std::vector<GraphElements> values_;
  std::vector<std::optional<std::size_t>> made_by_;
};

}  // namespace

std::optional<Case> rewritten_graph(const Case& test_case, const Stages& stages) {
  const Replaced replaced(stages);
  std::optional<Case> result;
  for (const auto* pass : kPasses) {
    const Case& graph = result ? *result : test_case;
    if (replaced.has(pass->info) && is_judged_as_graph(graph)) result = stages.get(*pass)(graph);
  }
  if (result && *result == test_case) result.reset();
  return result;
}

std::optional<Tensor> run_graph(const Case& test_case, const Lowered& lowered, const Stages& stages) {
  const std::optional<Case> rewritten = rewritten_graph(test_case, stages);
  Classification classification;
  if (rewritten) {
    classification = classify(*rewritten);
    if (!classification.lowered) return std::nullopt;
  }
  const Lowered& computed = rewritten ? *classification.lowered : lowered;
  const Replaced replaced(stages);
  const bool has_kernel = replaced.has(graph_stage::numbers.info) || replaced.has(graph_stage::sum.info) ||
                          replaced.has(graph_stage::quantize.info);
  const GraphProgram* program = graph_program_of(computed);
  if (!has_kernel || program == nullptr) return computed.evaluate(RoundingProfile::correctly_rounded);
  GraphRun run(rewritten ? *rewritten : test_case, *program, stages);
  const std::vector<GraphElements> values = run.run();
  // A graph in which no kernel changes anything has the reference's answer, whose hidden scales are rounded.
  if (!run.has_changed() && !replaced.has(graph_stage::numbers.info)) {
    return computed.evaluate(RoundingProfile::correctly_rounded);
  }
  const graph::ValueId output = program->program.outputs.front();
  return tensor_of(program->program.values[output], program->types[output], {values[output], values[output]});
}

}  // namespace qconform::diagnose
