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

bool replaces(const Stages& stages, const StageInfo& stage) {
  const auto all = stages.replaced();
  return std::find(all.begin(), all.end(), &stage) != all.end();
}

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

Case rewritten_graph(const Case& test_case, const Stages& stages) {
  Case result = test_case;
  for (const auto* pass : kPasses) {
    if (is_judged_as_graph(result) && replaces(stages, pass->info)) result = stages.get(*pass)(result);
  }
  return result;
}

std::optional<Tensor> run_graph(const Case& test_case, const Lowered& lowered, const Stages& stages) {
  const Case rewritten = rewritten_graph(test_case, stages);
  const bool has_kernel = replaces(stages, graph_stage::numbers.info) || replaces(stages, graph_stage::sum.info) ||
                          replaces(stages, graph_stage::quantize.info);
  if (!has_kernel && rewritten == test_case) return lowered.evaluate(RoundingProfile::correctly_rounded);
  const Classification classification = classify(rewritten);
  if (!classification.lowered) return std::nullopt;
  const GraphProgram* program = graph_program_of(*classification.lowered);
  if (!has_kernel || program == nullptr) return classification.lowered->evaluate(RoundingProfile::correctly_rounded);
  GraphRun run(rewritten, *program, stages);
  const std::vector<GraphElements> values = run.run();
  // A graph in which no kernel changes anything has the reference's answer, whose hidden scales are rounded.
  if (!run.has_changed() && !replaces(stages, graph_stage::numbers.info)) {
    return classification.lowered->evaluate(RoundingProfile::correctly_rounded);
  }
  const graph::ValueId output = program->program.outputs.front();
  return tensor_of(program->program.values[output], program->types[output], {values[output], values[output]});
}

}  // namespace qconform::diagnose
