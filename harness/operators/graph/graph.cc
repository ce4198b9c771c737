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
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/graph/dynamic_scales.h"
#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/pipeline.h"
#include "harness/operators/graph/sweep_units.h"
#include "harness/operators/linear/linear.h"
#include "reference/graph/interpreter.h"

namespace qconform::lowering {
namespace {

// QuantizeLinear, DequantizeLinear, ConvInteger and QLinearConv: as the single operators read them.

using namespace reference::graph;

// The node alone. Data have no bytes: nothing but their type and shape is asked for. Zero points that are computed are
// 0 in it where `may_compute` allows them.
std::optional<Case> alone(const NodeLowering& node, const Operator& known, bool may_compute = false) {
  Case result;
  result.node() = {node.node().op_type, "", node.opset(), node.node().attributes};
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const bool is_data = i < known.inputs.size() && known.inputs[i].role == InputRole::data;
    if (i == 0 || (is_data && node.has(i))) {
      result.inputs.emplace_back(Tensor{node.type(i), node.shape(i), {}});
    } else if (may_compute && node.has(i) && node.stated_tensor(node.id(i)) == nullptr) {
      result.inputs.emplace_back(Tensor::zeros(node.type(i), node.shape(i)));
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

// The integers less their zero point; `index` has the zero point of each.
std::optional<ValueId> centred(const NodeLowering& node, std::size_t input, std::size_t zero_point,
                               std::vector<std::int64_t> index) {
  const Shape& shape = node.shape(input);
  if (!node.has(zero_point)) return node.compute(Move{}, {node.id(input)}, shape, ElementType::int32);
  return node.compute(Elementwise{.function = Function::sub, .index = {{}, std::move(index)}},
                      {node.id(input), node.id(zero_point)}, shape, ElementType::int32);
}

/// The positions of a convolution's operands and of what belongs to them.
struct ConvolutionInputs {
  std::size_t w;
  std::size_t x_zero_point;
  std::size_t w_zero_point;
  std::size_t bias;
};

// The exact sums, with the bias.
std::optional<ValueId> integer_sums(const NodeLowering& node, const reference::ConvolutionOperands& operands,
                                    ConvolutionInputs at) {
  const auto x = centred(node, 0, at.x_zero_point, {0});
  const Shape& w_shape = node.shape(at.w);
  const bool has_columns = node.has(at.w_zero_point) && elements_of(node.shape(at.w_zero_point)) != 1;
  std::vector<std::int64_t> index{0};
  if (has_columns) index = strided({w_shape[0], elements_of(w_shape) / std::max<std::int64_t>(1, w_shape[0])}, {1, 0});
  const auto w = centred(node, at.w, at.w_zero_point, std::move(index));
  if (!x || !w) return std::nullopt;
  const auto& geometry = operands.geometry;
  WeightedSum sum{.taps = ConvolutionTaps{geometry}};
  std::vector<ValueId> values{*x, *w};
  if (node.has(at.bias)) {
    sum.c_index = strided({geometry.batch, geometry.output_channels, geometry.output_positions()}, {0, 1, 0});
    values.push_back(node.id(at.bias));
  }
  return node.compute(std::move(sum), std::move(values), geometry.output_shape(), ElementType::int32);
}

bool lower_conv_integer(const NodeLowering& node) {
  const auto single = alone(node, conv_integer_operator(), true);
  if (!single) return false;
  Classification classification = conv_integer_operator().classify(*single);
  if (!node.absorb(std::move(classification.contract))) return false;
  const auto& operands = conv_integer_of(*classification.lowered)->operands;
  const auto sums = integer_sums(node, operands, {1, 2, 3, kAnyNumber});
  const Shape shape = operands.geometry.output_shape();
  return sums && node.claim(shape) &&
         node.emit(Elementwise{.function = Function::wrap32, .index = {}}, {*sums}, shape, ElementType::int32);
}

bool lower_qlinear_conv(const NodeLowering& node) {
  const auto single = alone(node, qlinear_conv_operator());
  if (!single) return false;
  Classification classification = qlinear_conv_operator().classify(*single);
  if (!node.absorb(std::move(classification.contract))) return false;
  if (classification.value_is_open) node.leaves_value_open();
  const reference::QLinearConv& convolution = *qlinear_conv_of(*classification.lowered);
  const auto sums = integer_sums(node, convolution.operands, {3, 2, 5, 8});
  const auto& geometry = convolution.operands.geometry;
  const Shape shape = geometry.output_shape();
  if (!sums || !node.claim(shape)) return false;
  Requantize requantize;
  for (const std::int64_t channel :
       strided({geometry.batch, geometry.output_channels, geometry.output_positions()}, {0, 1, 0})) {
    requantize.parameters.push_back(convolution.requantization(static_cast<std::size_t>(channel)));
  }
  return node.emit(std::move(requantize), {*sums}, shape, convolution.y_type);
}

constexpr NodeOperator kQuantizationNodes[] = {
    {.name = "ConvInteger",
     .since = 10,
     .least_inputs = 2,
     .most_inputs = 4,
     .types = node_types::kAll,
     .attributes = {},
     .lower = lower_conv_integer,
     .is_single_operator = true},
    {.name = "QLinearConv",
     .since = 10,
     .least_inputs = 8,
     .most_inputs = 9,
     .types = node_types::kAll,
     .attributes = {},
     .lower = lower_qlinear_conv,
     .is_single_operator = true},
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
  Evaluated(std::shared_ptr<const GraphProgram> lowered, QuantizationsStated quantizations, graph::Answers given,
            bool is_interpreted = false)
      : lowered_(std::move(lowered)),
        quantizations_(quantizations),
        given_(std::move(given)),
        is_interpreted_(is_interpreted) {}

  [[nodiscard]] const GraphProgram& lowered() const { return *lowered_; }
  /// Whether the given answers are an interpreter's: each of them is right by those before it.
  [[nodiscard]] bool is_interpreted() const { return is_interpreted_; }
  [[nodiscard]] const graph::Answers& given_answers() const { return given_; }
  /// Returns this graph with the answers of a backend, by which others are judged.
  [[nodiscard]] std::shared_ptr<const Evaluated> given(graph::Answers answers) const {
    const bool is_alike = std::equal(given_.begin(), given_.end(), answers.begin(), answers.end(),
                                     [](const auto& a, const auto& b) { return a.first == b.first; });
    if (!is_alike) return std::make_shared<const Evaluated>(lowered_, quantizations_, std::move(answers));
    (void)needed();
    auto other = std::make_shared<Evaluated>(*this);
    other->given_ = std::move(answers);
    other->is_interpreted_ = false;
    other->bounds_ = {};
    return other;
  }
  [[nodiscard]] CornerCaseCounts corner_cases() const { return graph_corner_cases(*lowered_, quantizations_); }
  // Whether some sum is of a type that may be accumulated in float32.
  [[nodiscard]] bool has_narrow_sums() const {
    const graph::Program& program = lowered_->program;
    return std::any_of(program.steps.begin(), program.steps.end(), [&](const graph::Step& step) {
      return std::holds_alternative<graph::WeightedSum>(step.what) &&
             graph::precision_of(program.values[step.result].type) < graph::precision_of(ElementType::float32);
    });
  }
  // Whether some node permits narrower activations than its operands have.
  [[nodiscard]] bool states_accuracy() const {
    const auto& steps = lowered_->program.steps;
    return std::any_of(steps.begin(), steps.end(), [](const graph::Step& step) {
      const auto* sum = std::get_if<graph::WeightedSum>(&step.what);
      return sum != nullptr && sum->permits_narrow_activations();
    });
  }
  // Returns the bounds of the value that output `number` is.
  [[nodiscard]] const graph::Bounds& bounds(std::size_t number, reference::Tier tier) const {
    return bounds_of_value(lowered_->program.outputs[number], tier);
  }
  [[nodiscard]] const graph::Bounds& bounds_of_value(graph::ValueId value, reference::Tier tier) const {
    if (tier == reference::Tier::stated_accuracy && !states_accuracy()) tier = reference::Tier::any_association;
    auto& all = bounds_[static_cast<std::size_t>(tier)];
    if (all.empty()) all = graph::bounds_of(needed(), tier, given_);
    return all[value];
  }

 private:
  // Returns what the outputs need of the program.
  [[nodiscard]] const graph::Program& needed() const {
    if (needed_ == nullptr) {
      auto part = graph::needed_part(lowered_->program, given_, lowered_->judged);
      needed_ = part ? std::make_shared<const graph::Program>(std::move(*part))
                     : std::shared_ptr<const graph::Program>(lowered_, &lowered_->program);
    }
    return *needed_;
  }

  std::shared_ptr<const GraphProgram> lowered_;
  mutable std::shared_ptr<const graph::Program> needed_;
  QuantizationsStated quantizations_;
  graph::Answers given_;
  bool is_interpreted_ = false;
  mutable std::array<std::vector<graph::Bounds>, std::size(reference::kAllTiers)> bounds_;
};

// One output of a graph.
class LoweredOutput : public Lowered {
 public:
  LoweredOutput(std::shared_ptr<const Evaluated> graph, std::size_t number)
      : graph_(std::move(graph)), number_(number) {}

  [[nodiscard]] ElementType output_type() const override { return graph_->lowered().types[value()]; }
  [[nodiscard]] std::vector<std::int64_t> output_shape() const override { return program().values[value()].shape; }

  [[nodiscard]] bool is_judged() const override {
    const auto& judged = graph_->lowered().judged;
    return std::find(judged.begin(), judged.end(), value()) != judged.end();
  }

  [[nodiscard]] Tensor evaluate(RoundingProfile) const override {
    // States at the ends of their sets would not follow from each other.
    if (!is_judged() || (graph_->is_interpreted() && shows())) return shown();
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
    RightValues values{.type = output_type(), .any_value = !is_judged() || right.is_open(i)};
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

  /// Whether the number is right by default.
  [[nodiscard]] bool is_right(std::int64_t index, double number) const {
    return holds(bounds(reference::Tier::stated_accuracy), static_cast<std::size_t>(index), number);
  }

  [[nodiscard]] bool is_determined(std::int64_t index, const Policy& policy) const override {
    if (!is_judged()) return false;
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
  /// Returns this graph by the answers. What has been computed by the same ones stays: one answer is judged repeatedly.
  [[nodiscard]] std::shared_ptr<const Evaluated> given_to(graph::Answers answers) const {
    if (answers == graph_->given_answers()) return graph_;
    for (const auto& known : known_) {
      if (answers == known->given_answers()) return known;
    }
    constexpr std::size_t kKept = 4;
    if (known_.size() == kKept) known_.pop_front();
    return known_.emplace_back(graph_->given(std::move(answers)));
  }

 private:
  [[nodiscard]] const graph::Program& program() const { return graph_->lowered().program; }
  [[nodiscard]] graph::ValueId value() const { return program().outputs[number_]; }
  [[nodiscard]] const graph::Bounds& bounds(reference::Tier tier) const { return graph_->bounds(number_, tier); }

  [[nodiscard]] bool shows() const {
    const auto& all = graph_->lowered().shown;
    return std::any_of(all.begin(), all.end(), [&](const GraphProgram::Shown& one) { return one.by == value(); });
  }

  // The numbers by which other outputs are judged.
  [[nodiscard]] Tensor shown() const {
    Tensor tensor = Tensor::zeros(output_type(), output_shape());
    for (const GraphProgram::Shown& one : graph_->lowered().shown) {
      const auto given = graph_->given_answers().find(one.value);
      if (one.by != value() || given == graph_->given_answers().end()) continue;
      for (std::size_t i = 0; i < given->second.size(); ++i) {
        set_raw_bits_at(tensor.bytes, bits_of(tensor.type), one.first + static_cast<std::int64_t>(i),
                        pattern_of(tensor.type, given->second[i]));
      }
    }
    return tensor;
  }

  static reference::Tier admitted_by(const Policy& policy) {
    switch (policy.profile) {
      case Profile::correctly_rounded: return reference::Tier::exact;
      case Profile::fused_int8: return reference::Tier::fused_int8;
      case Profile::fused_q31: return reference::Tier::fused_fixed_point;
      default: return reference::Tier::stated_accuracy;
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
      if (tier == Tier::stated_accuracy && !graph_->states_accuracy()) continue;
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
  mutable std::deque<std::shared_ptr<const Evaluated>> known_;
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
    sum->for_each_term(static_cast<std::size_t>(elements / 2), count);
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
    const graph::Bounds& real = graph_->bounds_of_value(step.operands[0], reference::Tier::exact);
    const std::size_t parameter = quantize->node.layout.parameter_of(index);
    const double middle = real.lo[i] / 2 + real.hi[i] / 2;
    return fmt::format("{:.12g}, zero point {}", middle / quantize->node.y_scale[parameter],
                       quantize->node.y_zero_point[parameter]);
  }
  const graph::Bounds& exact = bounds(reference::Tier::exact);
  return is_integer(output_type()) ? std::string() : fmt::format("{:.12g}", exact.lo[i] / 2 + exact.hi[i] / 2);
}

// The scale and the zero point that DynamicQuantizeLinear computes, where they are outputs of the graph as they are.
graph::Answers own_parameters(const GraphProgram& lowered, const std::vector<Tensor>& answers,
                              const std::vector<DynamicScale>& scales) {
  const graph::Program& program = lowered.program;
  graph::Answers given;
  const auto take = [&](graph::ValueId value) {
    for (const graph::Step& step : program.steps) {
      const bool moves = std::holds_alternative<graph::Move>(step.what) && step.operands[0] == value;
      const auto at = std::find(program.outputs.begin(), program.outputs.end(), moves ? step.result : value);
      const auto number = static_cast<std::size_t>(at - program.outputs.begin());
      if (number >= answers.size()) continue;
      const Tensor& answer = answers[number];
      const graph::ValueId output = program.outputs[number];
      if (answer.type != lowered.types[output] || answer.shape != program.values[output].shape) continue;
      const double parameter = number_at(answer, 0);
      if (std::isfinite(parameter)) given[value] = {parameter};
    }
  };
  for (const DynamicScale& scale : scales) {
    take(scale.scale);
    take(scale.zero_point);
  }
  return given;
}

// The numbers of values inside nodes that outputs show.
graph::Answers shown_values(const GraphProgram& lowered, const std::vector<Tensor>& answers) {
  const graph::Program& program = lowered.program;
  graph::Answers given;
  for (const GraphProgram::Shown& one : lowered.shown) {
    const auto at = std::find(program.outputs.begin(), program.outputs.end(), one.by);
    const auto number = static_cast<std::size_t>(at - program.outputs.begin());
    if (number >= answers.size()) continue;
    const Tensor& answer = answers[number];
    if (answer.type != lowered.types[one.by] || answer.shape != program.values[one.by].shape) continue;
    std::vector<double> numbers(static_cast<std::size_t>(elements_of(program.values[one.value].shape)));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = number_at(answer, one.first + static_cast<std::int64_t>(i));
    }
    const bool is_finite = std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
    if (is_finite) given.emplace(one.value, std::move(numbers));
  }
  return given;
}

// A whole graph: its first output, and the others behind it.
class LoweredGraph final : public LoweredOutput {
 public:
  explicit LoweredGraph(const std::shared_ptr<const Evaluated>& graph) : LoweredOutput(graph, 0) {
    for (std::size_t i = 1; i < graph->lowered().program.outputs.size(); ++i) further_.emplace_back(graph, i);
  }
  /// Scales and zero points that the graph outputs are the backend's own. Those inside are the right pairs by which
  /// fewest elements are wrong: whoever fuses the node away has one pair for the whole tensor.
  [[nodiscard]] std::unique_ptr<Lowered> given(const std::vector<Tensor>& answers) const override {
    graph::Answers parameters = graph().given_answers();
    const graph::Answers shown = shown_values(lowered(), answers);
    for (const auto& [value, numbers] : shown) parameters[value] = numbers;
    const std::vector<DynamicScale> scales = dynamic_scales(lowered().program, shown);
    for (const DynamicScale& scale : scales) {
      if (!shown.empty()) scale.give(0, parameters);
    }
    for (auto& [value, numbers] : own_parameters(lowered(), answers, scales)) parameters[value] = numbers;
    if (parameters.empty()) return nullptr;
    auto best = std::make_unique<LoweredGraph>(given_to(parameters));
    std::size_t least = best->wrong_elements(answers);
    int tries = kMostTries;
    for (const DynamicScale& scale : scales) {
      for (std::size_t i = 1; i < scale.pairs.size() && least != 0 && tries > 0; ++i, --tries) {
        graph::Answers other = parameters;
        scale.give(i, other);
        auto candidate = std::make_unique<LoweredGraph>(given_to(std::move(other)));
        const std::size_t wrong = candidate->wrong_elements(answers);
        if (wrong >= least) continue;
        least = wrong;
        best = std::move(candidate);
        parameters = best->graph().given_answers();
      }
    }
    return best;
  }
  [[nodiscard]] std::size_t outputs() const override { return further_.size() + 1; }
  [[nodiscard]] const Lowered& output(std::size_t number) const override {
    if (number == 0) return *this;
    return further_[number - 1];
  }

 private:
  // Evaluations in search of pairs: a sequence has two for each of its steps.
  static constexpr int kMostTries = 64;

  [[nodiscard]] std::size_t wrong_elements(const std::vector<Tensor>& answers) const {
    std::size_t wrong = 0;
    for (std::size_t number = 0; number < std::min(answers.size(), outputs()); ++number) {
      const Lowered& expected = output(number);
      const Tensor& answer = answers[number];
      if (answer.type != expected.output_type() || answer.shape != expected.output_shape()) continue;
      const auto& one = number == 0 ? static_cast<const LoweredOutput&>(*this) : further_[number - 1];
      if (!one.is_judged()) continue;
      for (std::int64_t i = 0; i < answer.elements(); ++i) wrong += one.is_right(i, number_at(answer, i)) ? 0 : 1;
    }
    return wrong;
  }

  std::deque<LoweredOutput> further_;
};

// The first right pair of every DynamicQuantizeLinear whose scale and zero point the graph does not output.
graph::Answers first_pairs(const graph::Program& program) {
  graph::Answers pairs;
  const auto is_output = [&](graph::ValueId value) {
    return std::any_of(program.steps.begin(), program.steps.end(), [&](const graph::Step& step) {
      return std::holds_alternative<graph::Move>(step.what) && step.operands[0] == value &&
             std::find(program.outputs.begin(), program.outputs.end(), step.result) != program.outputs.end();
    });
  };
  for (const DynamicScale& scale : dynamic_scales(program)) {
    if (!is_output(scale.scale) && !is_output(scale.zero_point)) scale.give(0, pairs);
  }
  return pairs;
}

// Returns the graph with what the reference takes for values that a backend decides or shows: the first right pairs,
// and states of a sequence as the case records them, or else as an interpreter computes them.
std::shared_ptr<const Evaluated> evaluated(const Case& test_case, GraphProgram program) {
  const auto lowered = std::make_shared<const GraphProgram>(std::move(program));
  graph::Answers values = first_pairs(lowered->program);
  const graph::Answers recorded = shown_values(*lowered, test_case.recorded_outputs);
  const bool is_interpreted = recorded.size() < lowered->shown.size();
  if (is_interpreted) {
    const auto computed = graph::interpret(lowered->program, {});
    for (const GraphProgram::Shown& one : lowered->shown) values[one.value] = computed[one.value];
  } else {
    for (const auto& [value, numbers] : recorded) values[value] = numbers;
  }
  if (!lowered->shown.empty()) {
    for (const DynamicScale& scale : dynamic_scales(lowered->program, values)) scale.give(0, values);
  }
  return std::make_shared<const Evaluated>(lowered, quantizations_of(test_case), std::move(values), is_interpreted);
}

Classification classify_graph(const Case& test_case) {
  Classification result;
  auto program = lower_graph(test_case, result.contract);
  if (!program) return result;
  result.value_is_open = program->value_is_open;
  result.lowered = std::make_unique<LoweredGraph>(evaluated(test_case, std::move(*program)));
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
