#include "harness/operators/graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <utility>

#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/hazards.h"
#include "harness/operators/graph/shrink.h"
#include "harness/operators/graph/sweep_units.h"
#include "harness/operators/graph/wiring.h"
#include "harness/operators/text.h"

namespace qconform {
namespace {

namespace graph = reference::graph;

// What a graph's sets are computed from, once for all of its outputs.
class Evaluated {
 public:
  Evaluated(GraphProgram lowered, QuantizationsStated quantizations)
      : lowered_(std::move(lowered)), quantizations_(quantizations) {}

  [[nodiscard]] const GraphProgram& lowered() const { return lowered_; }
  [[nodiscard]] HazardCounts hazards() const { return graph_hazards(lowered_, quantizations_); }
  // Of the value that output `number` is.
  [[nodiscard]] const graph::Bounds& bounds(std::size_t number, graph::Reading reading) const {
    auto& all = bounds_[static_cast<std::size_t>(reading)];
    if (all.empty()) all = graph::bounds_of(lowered_.program, reading);
    return all[lowered_.program.outputs[number]];
  }

 private:
  GraphProgram lowered_;
  QuantizationsStated quantizations_;
  mutable std::array<std::vector<graph::Bounds>, 3> bounds_;
};

// One output of a graph.
class LoweredOutput : public Lowered {
 public:
  LoweredOutput(std::shared_ptr<const Evaluated> graph, std::size_t number)
      : graph_(std::move(graph)), number_(number) {}

  [[nodiscard]] ElementType output_type() const override { return graph_->lowered().types[value()]; }
  [[nodiscard]] std::vector<std::int64_t> output_shape() const override { return program().values[value()].shape; }

  [[nodiscard]] Tensor evaluate(RoundingProfile) const override {
    const graph::Bounds& exact = bounds(graph::Reading::exact);
    return tensor_of(program().values[value()], output_type(), exact);
  }

  [[nodiscard]] ElementOpinion examine(std::int64_t index, const Tensor& got, const Policy& policy) const override {
    return {.right = holds(bounds(admitted_by(policy)), static_cast<std::size_t>(index), number_at(got, index)),
            .tiers = {}};
  }

  [[nodiscard]] std::string admissible_text(std::int64_t index, const Policy& policy) const override {
    const graph::Bounds& right = bounds(admitted_by(policy));
    const auto i = static_cast<std::size_t>(index);
    if (right.is_open(i)) return "any value";
    if (!right.members.empty()) return fmt::format("{{{}}}", fmt::join(right.members[i], ", "));
    const auto [lo, hi] = ends(right, i);
    if (lo == hi) return fmt::format("{{{}}}", lo);
    if (is_integer(output_type()) && hi - lo == 1) return fmt::format("{{{}, {}}}", lo, hi);
    if (is_integer(output_type())) return fmt::format("{{{}..{}}}", lo, hi);
    return fmt::format("[{}, {}]", lo, hi);
  }

  [[nodiscard]] bool is_determined(std::int64_t index, const Policy& policy) const override {
    const auto [lo, hi] = ends(bounds(admitted_by(policy)), static_cast<std::size_t>(index));
    return lo == hi;
  }

  // Elements that leave more than a tie open prove little.
  [[nodiscard]] CaseStatistics statistics(const Policy& policy) const override {
    CaseStatistics statistics;
    statistics.hazards = graph_->hazards();
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

  [[nodiscard]] std::string exact_value(std::int64_t index) const override;

  [[nodiscard]] const GraphProgram& lowered() const { return graph_->lowered(); }

 private:
  [[nodiscard]] const graph::Program& program() const { return graph_->lowered().program; }
  [[nodiscard]] graph::ValueId value() const { return program().outputs[number_]; }
  [[nodiscard]] const graph::Bounds& bounds(graph::Reading reading) const { return graph_->bounds(number_, reading); }

  static graph::Reading admitted_by(const Policy& policy) {
    return policy.profile == Profile::correctly_rounded ? graph::Reading::exact : graph::Reading::any_association;
  }

  // The output's own numbers: of a float type, the roundings of real ends.
  [[nodiscard]] std::pair<double, double> ends(const graph::Bounds& right, std::size_t i) const {
    const auto type = program().values[value()].type;
    return {graph::rounded_to_type(type, right.lo[i]), graph::rounded_to_type(type, right.hi[i])};
  }
  [[nodiscard]] bool holds(const graph::Bounds& right, std::size_t i, double got) const {
    if (right.is_open(i)) return true;
    if (!right.members.empty()) {
      return std::find(right.members[i].begin(), right.members[i].end(), got) != right.members[i].end();
    }
    const auto [lo, hi] = ends(right, i);
    return got >= lo && got <= hi;
  }
  std::shared_ptr<const Evaluated> graph_;
  std::size_t number_;
};

// "41.5, zero point 3": what a Q rounds, in units of its output.
std::string LoweredOutput::exact_value(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  for (const graph::Step& step : program().steps) {
    if (step.result != value()) continue;
    const auto* quantize = std::get_if<graph::Quantize>(&step.what);
    if (quantize == nullptr) break;
    const graph::Bounds real = graph::bounds_of(program(), graph::Reading::exact)[step.operands[0]];
    const std::size_t parameter = quantize->node.layout.parameter_of(index);
    const double middle = real.lo[i] / 2 + real.hi[i] / 2;
    return fmt::format("{:.12g}, zero point {}", middle / quantize->node.y_scale[parameter],
                       quantize->node.y_zero_point[parameter]);
  }
  const graph::Bounds& exact = bounds(graph::Reading::exact);
  return is_integer(output_type()) ? std::string() : fmt::format("{:.12g}", exact.lo[i] / 2 + exact.hi[i] / 2);
}

// A whole graph: its first output, and the others behind it.
class LoweredGraph final : public LoweredOutput {
 public:
  explicit LoweredGraph(const std::shared_ptr<const Evaluated>& graph) : LoweredOutput(graph, 0) {
    for (std::size_t i = 1; i < graph->lowered().program.outputs.size(); ++i) further_.emplace_back(graph, i);
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
  if (const auto wired = check_wiring(test_case); !wired) {
    result.contract.violate(wired.error().rule, wired.error().field, wired.error().message);
    return result;
  }
  auto program = lower_graph(test_case, result.contract);
  if (!program) return result;
  result.value_is_open = program->value_is_open;
  result.lowered = std::make_unique<LoweredGraph>(
      std::make_shared<const Evaluated>(std::move(*program), quantizations_of(test_case)));
  return result;
}

constexpr std::array<std::int64_t, 1> kVersions{1};

constexpr std::array kGraph{Operator{.name = kGraphSubject,
                                     .inputs = {},
                                     .versions = kVersions,
                                     .classify = classify_graph,
                                     .hazards = {HazardTopic::graphs}}};

Case draw_for(Rng& rng, const Operator&, Hazard hazard, const Swarm&) {
  return draw_graph_for(rng, hazard);
}

}  // namespace

const Family& graph_family() {
  static constexpr Family family{.name = "graph",
                                 .operators = kGraph,
                                 .draw_for = draw_for,
                                 .swept_units = unit::swept_units,
                                 .reductions = shrink::graph_reductions,
                                 .extents = shrink::graph_extents,
                                 .culprit = shrink::graph_culprit};
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
