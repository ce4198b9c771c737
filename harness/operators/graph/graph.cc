#include "harness/operators/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "harness/graphs/node_lowering.h"
#include "harness/model/defects/arithmetic.h"
#include "harness/model/text.h"
#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/pipeline.h"
#include "harness/operators/graph/sweep_units.h"
#include "harness/operators/linear/linear.h"

namespace qconform::lowering {
namespace {

// QuantizeLinear and DequantizeLinear: as the single operators read them.

using namespace reference::graph;

// The node alone. x has no bytes: nothing but its type and shape is asked for.
std::optional<Case> alone(const NodeLowering& node, const Operator& known) {
  Case result;
  result.node() = {node.node().op_type, "", node.opset(), node.node().attributes};
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (i == 0) {
      result.inputs.emplace_back(Tensor{node.type(0), node.shape(0), {}});
    } else if (!node.has(i)) {
      result.inputs.emplace_back();
    } else {
      const Tensor* tensor = node.stated(i, known.inputs[i].name);
      if (tensor == nullptr) return std::nullopt;
      result.inputs.emplace_back(*tensor);
    }
  }
  return result;
}

bool lower(const NodeLowering& node, const Operator& known) {
  const auto single = alone(node, known);
  if (!single) return false;
  Classification classification = known.classify(*single);
  if (!node.absorb(std::move(classification.contract))) return false;
  if (classification.value_is_open) node.leaves_value_open();
  const Lowered& lowered = *classification.lowered;
  Shape shape = node.shape(0);
  if (!node.claim(shape)) return false;
  if (const auto* quantized = quantize_linear_of(lowered)) {
    node.scales_by(quantized->y_scale);
    return node.emit(Quantize{*quantized}, {node.id(0)}, std::move(shape), lowered.output_type());
  }
  const auto* dequantized = dequantize_linear_of(lowered);
  node.scales_by(dequantized->x_scale);
  return node.emit(Dequantize{*dequantized}, {node.id(0)}, std::move(shape), lowered.output_type());
}

constexpr NodeOperator kQuantizationNodes[] = {
    {.name = "QuantizeLinear",
     .since = 10,
     .least_inputs = 2,
     .most_inputs = 3,
     .types = node_types::grown(node_types::kAll, 25),
     .attributes = {},
     .lower = [](const NodeLowering& node) { return lower(node, quantize_linear_operator()); },
     .is_single_operator = true},
    {.name = "DequantizeLinear",
     .since = 10,
     .least_inputs = 2,
     .most_inputs = 3,
     .types = node_types::grown(node_types::kAll, 25),
     .attributes = {},
     .lower = [](const NodeLowering& node) { return lower(node, dequantize_linear_operator()); },
     .is_single_operator = true},
};

}  // namespace

std::span<const NodeOperator> quantization_nodes() {
  return kQuantizationNodes;
}

}  // namespace qconform::lowering

namespace qconform {
namespace {

namespace graph = reference::graph;

// Holds a lowered graph and computes its sets, once for all of its outputs.
class Evaluated {
 public:
  Evaluated(GraphProgram lowered, QuantizationsStated quantizations, graph::Answers given = {})
      : lowered_(std::move(lowered)), quantizations_(quantizations), given_(std::move(given)) {}

  [[nodiscard]] const GraphProgram& lowered() const { return lowered_; }
  /// Returns this graph with the answers of a backend, by which others are judged.
  [[nodiscard]] std::shared_ptr<const Evaluated> given(graph::Answers answers) const {
    return std::make_shared<const Evaluated>(lowered_, quantizations_, std::move(answers));
  }
  [[nodiscard]] CornerCaseCounts corner_cases() const { return graph_corner_cases(lowered_, quantizations_); }
  // Whether some sum is of a type that may be accumulated in float32.
  [[nodiscard]] bool has_narrow_sums() const {
    const graph::Program& program = lowered_.program;
    return std::any_of(program.steps.begin(), program.steps.end(), [&](const graph::Step& step) {
      return std::holds_alternative<graph::WeightedSum>(step.what) &&
             graph::precision_of(program.values[step.result].type) < graph::precision_of(ElementType::float32);
    });
  }
  // Returns the bounds of the value that output `number` is.
  [[nodiscard]] const graph::Bounds& bounds(std::size_t number, reference::Tier tier) const {
    auto& all = bounds_[static_cast<std::size_t>(tier)];
    if (all.empty()) all = graph::bounds_of(lowered_.program, tier, given_);
    return all[lowered_.program.outputs[number]];
  }

 private:
  GraphProgram lowered_;
  QuantizationsStated quantizations_;
  graph::Answers given_;
  mutable std::array<std::vector<graph::Bounds>, std::size(reference::kAllTiers)> bounds_;
};

// One output of a graph.
class LoweredOutput : public Lowered {
 public:
  LoweredOutput(std::shared_ptr<const Evaluated> graph, std::size_t number)
      : graph_(std::move(graph)), number_(number) {}

  [[nodiscard]] ElementType output_type() const override { return graph_->lowered().types[value()]; }
  [[nodiscard]] std::vector<std::int64_t> output_shape() const override { return program().values[value()].shape; }

  [[nodiscard]] Tensor evaluate(RoundingProfile) const override {
    const graph::Bounds& exact = bounds(reference::Tier::exact);
    return tensor_of(program().values[value()], output_type(), exact);
  }

  [[nodiscard]] ElementOpinion examine(std::int64_t index, const Tensor& got, const Policy& policy) const override {
    const auto i = static_cast<std::size_t>(index);
    const double number = number_at(got, index);
    return {.right = holds(bounds(admitted_by(policy)), i, number), .tiers = tiers_of(i, number)};
  }
  [[nodiscard]] bool has_tiers() const override { return true; }

  [[nodiscard]] RightValues right_values(std::int64_t index, const Policy& policy) const override {
    const graph::Bounds& right = bounds(admitted_by(policy));
    const auto i = static_cast<std::size_t>(index);
    RightValues values{.type = output_type(), .any_value = right.is_open(i)};
    if (values.any_value) return values;
    if (right.members.empty()) {
      const auto [lo, hi] = ends(right, i);
      const bool is_zero = lo == 0 && hi == 0;  // either sign: they are equal numbers
      values.either_zero = is_zero && !is_integer(output_type());
      values.ranges.push_back(
          {pattern_of(output_type(), is_zero ? 0 : lo), pattern_of(output_type(), is_zero ? 0 : hi)});
      return values;
    }
    for (const std::int64_t member : right.members[i]) {
      const std::uint64_t bits = pattern_of(output_type(), static_cast<double>(member));
      values.ranges.push_back({bits, bits});
    }
    return values;
  }

  [[nodiscard]] bool is_determined(std::int64_t index, const Policy& policy) const override {
    const auto [lo, hi] = ends(bounds(admitted_by(policy)), static_cast<std::size_t>(index));
    return lo == hi;
  }

  // Elements that leave more than a tie open prove little.
  [[nodiscard]] CaseStatistics statistics(const Policy& policy) const override {
    CaseStatistics statistics;
    statistics.corner_cases = graph_->corner_cases();
    const graph::Bounds& right = bounds(admitted_by(policy));
    if (!is_integer(output_type())) return statistics;
    for (std::size_t i = 0; i < right.lo.size(); ++i) {
      const auto [lo, hi] = ends(right, i);
      statistics.ties.open += hi - lo > 1 ? 1 : 0;
    }
    return statistics;
  }

  [[nodiscard]] std::unique_ptr<reference::PreparedNode> prepare(const reference::KernelSet&,
                                                                 RoundingProfile) const override {
    return nullptr;  // kernel sets take single nodes
  }

  [[nodiscard]] std::int64_t work() const override;
  [[nodiscard]] std::string exact_value(std::int64_t index) const override;

  [[nodiscard]] const GraphProgram& lowered() const { return graph_->lowered(); }

 protected:
  [[nodiscard]] const Evaluated& graph() const { return *graph_; }

 private:
  [[nodiscard]] const graph::Program& program() const { return graph_->lowered().program; }
  [[nodiscard]] graph::ValueId value() const { return program().outputs[number_]; }
  [[nodiscard]] const graph::Bounds& bounds(reference::Tier tier) const { return graph_->bounds(number_, tier); }

  static reference::Tier admitted_by(const Policy& policy) {
    switch (policy.profile) {
      case Profile::correctly_rounded: return reference::Tier::exact;
      case Profile::fused_int8: return reference::Tier::fused_int8;
      case Profile::fused_q31: return reference::Tier::fused_fixed_point;
      default: return reference::Tier::any_association;
    }
  }

  // Each tier holds the ones before it, so that the first one that has the number tells all.
  [[nodiscard]] reference::TierSet tiers_of(std::size_t i, double got) const {
    using reference::Tier;
    if (holds(bounds(Tier::exact), i, got)) return reference::TierSet::all();
    reference::TierSet tiers;
    bool is_right = false;
    for (const Tier tier : std::span(graph::kGraphTiers).subspan(1)) {
      if (tier == Tier::float32_sums && !graph_->has_narrow_sums()) continue;
      is_right = is_right || holds(bounds(tier), i, got);
      if (is_right) tiers.insert(tier);
    }
    return tiers;
  }

  // The output's own numbers: of a float type, the roundings of real ends.
  [[nodiscard]] graph::Interval ends(const graph::Bounds& right, std::size_t i) const {
    return right.rounded(i, program().values[value()].type);
  }
  [[nodiscard]] bool holds(const graph::Bounds& right, std::size_t i, double got) const {
    if (right.is_open(i)) return true;
    if (!right.members.empty()) {
      return std::find(right.members[i].begin(), right.members[i].end(), got) != right.members[i].end();
    }
    return ends(right, i).contains({got, got});
  }
  std::shared_ptr<const Evaluated> graph_;
  std::size_t number_;
};

// Products of all sums, and elements of the other steps.
std::int64_t LoweredOutput::work() const {
  std::int64_t total = 0;
  for (const graph::Step& step : program().steps) {
    const std::int64_t elements = elements_of(program().values[step.result].shape);
    total += elements;
    const auto* sum = std::get_if<graph::WeightedSum>(&step.what);
    if (sum == nullptr || elements == 0) continue;
    // Windows in the middle have the most terms.
    std::int64_t terms = 0;
    const auto count = [&](std::int64_t, std::int64_t) { ++terms; };
    std::visit([&](const auto& taps) { taps.for_each(elements / 2, count); }, sum->taps);
    total += saturating_product(elements, terms);
  }
  return total;
}

// "41.5, zero point 3": what a Q rounds, in units of its output.
std::string LoweredOutput::exact_value(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  for (const graph::Step& step : program().steps) {
    if (step.result != value()) continue;
    const auto* quantize = std::get_if<graph::Quantize>(&step.what);
    if (quantize == nullptr) break;
    const graph::Bounds real = graph::bounds_of(program(), reference::Tier::exact)[step.operands[0]];
    const std::size_t parameter = quantize->node.layout.parameter_of(index);
    const double middle = real.lo[i] / 2 + real.hi[i] / 2;
    return fmt::format("{:.12g}, zero point {}", middle / quantize->node.y_scale[parameter],
                       quantize->node.y_zero_point[parameter]);
  }
  const graph::Bounds& exact = bounds(reference::Tier::exact);
  return is_integer(output_type()) ? std::string() : fmt::format("{:.12g}", exact.lo[i] / 2 + exact.hi[i] / 2);
}

bool is_dynamic_scale(const graph::Step& step) {
  const auto* function = std::get_if<graph::Elementwise>(&step.what);
  return function != nullptr && function->function == graph::Function::dynamic_scale;
}

// The scale and the zero point that DynamicQuantizeLinear computes, where they are outputs of the graph as they are.
graph::Answers own_parameters(const GraphProgram& lowered, const std::vector<Tensor>& answers) {
  const graph::Program& program = lowered.program;
  graph::Answers given;
  for (const graph::Step& dynamic : program.steps) {
    if (!is_dynamic_scale(dynamic)) continue;
    for (const graph::Step& step : program.steps) {
      if (step.node != dynamic.node || !std::holds_alternative<graph::Move>(step.what)) continue;
      const auto at = std::find(program.outputs.begin(), program.outputs.end(), step.result);
      const auto number = static_cast<std::size_t>(at - program.outputs.begin());
      if (number >= answers.size()) continue;
      const Tensor& answer = answers[number];
      if (answer.type != lowered.types[step.result] || answer.shape != program.values[step.result].shape) continue;
      const double parameter = number_at(answer, 0);
      if (std::isfinite(parameter)) given[step.operands[0]] = {parameter};
    }
  }
  return given;
}

// A whole graph: its first output, and the others behind it.
class LoweredGraph final : public LoweredOutput {
 public:
  explicit LoweredGraph(const std::shared_ptr<const Evaluated>& graph) : LoweredOutput(graph, 0) {
    for (std::size_t i = 1; i < graph->lowered().program.outputs.size(); ++i) further_.emplace_back(graph, i);
  }
  [[nodiscard]] std::unique_ptr<Lowered> given(const std::vector<Tensor>& answers) const override {
    graph::Answers parameters = own_parameters(lowered(), answers);
    if (parameters.empty()) return nullptr;
    return std::make_unique<LoweredGraph>(graph().given(std::move(parameters)));
  }
  [[nodiscard]] std::size_t outputs() const override { return further_.size() + 1; }
  [[nodiscard]] const Lowered& output(std::size_t number) const override {
    if (number == 0) return *this;
    return further_[number - 1];
  }

 private:
  std::deque<LoweredOutput> further_;
};

Classification classify_graph(const Case& test_case) {
  Classification result;
  auto program = lower_graph(test_case, result.contract);
  if (!program) return result;
  result.value_is_open = program->value_is_open;
  result.lowered = std::make_unique<LoweredGraph>(
      std::make_shared<const Evaluated>(std::move(*program), quantizations_of(test_case)));
  return result;
}

constexpr std::array<std::int64_t, 1> kVersions{1};

// Other suites than that of graphs draw none.
Case draw_any_graph(Rng& rng, const Swarm& /*swarm*/) {
  const std::uint64_t seed = rng.next();
  return graph_case(seed, rng.next());
}

constexpr std::array kGraph{Operator{.name = kGraphSubject,
                                     .inputs = {},
                                     .versions = kVersions,
                                     .classify = classify_graph,
                                     .judges_graphs = true,
                                     .corner_cases = {CornerCaseTopic::graphs},
                                     .draw = draw_any_graph}};

Case draw_for(Rng& rng, const Operator&, CornerCase corner_case, const Swarm&) {
  return draw_graph_for(rng, corner_case);
}

// The ways to compute that real runtimes use most.
std::vector<diagnose::Arithmetic> graph_arithmetics(const Operator& /*known*/, const Policy& policy) {
  std::vector<diagnose::Arithmetic> all;
  if (policy.profile == Profile::correctly_rounded) return all;
  for (const std::string_view id : {"fused-multiplier", "sum-forward", "sum-fma"}) {
    diagnose::Stages stages;
    diagnose::find_defect(id)->apply(stages);
    all.push_back({std::string(id), {diagnose::DefectModel(std::move(stages))}});
  }
  return all;
}

}  // namespace

const Family& graph_family() {
  static constexpr Family family{
      .name = "graph",
      .operators = kGraph,
      .draws = {.draw_for = draw_for},
      .relations = {.list = relations::graph_relations},
      .shrinking = {.reductions = shrink::graph_reductions, .extents = shrink::graph_extents},
      .diagnosis = {.run = diagnose::run_graph,
                    .defects = diagnose::graph_defects,
                    .case_features = diagnose::graph_case_features},
      .arithmetic = {.arithmetics = graph_arithmetics}};
  return family;
}

const Operator& graph_operator() {
  return kGraph[0];
}

const GraphProgram* graph_program_of(const Lowered& lowered) {
  const auto* found = dynamic_cast<const LoweredOutput*>(&lowered);
  return found == nullptr ? nullptr : &found->lowered();
}

}  // namespace qconform
