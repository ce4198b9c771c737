#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "harness/core/tensor.h"
#include "harness/operators/graph/dynamic_scales.h"
#include "harness/operators/graph/graph.h"
#include "reference/graph/sets.h"

namespace qconform {
namespace graph_corner_case_detectors {
namespace {

using namespace reference::graph;

constexpr double kNear = 0.03;
constexpr std::int64_t kManyTerms = 33000;

// Holds the DequantizeLinear that a value comes from, and the moves behind it.
struct Origin {
  const Step* step = nullptr;
  const Dequantize* dequantize = nullptr;  // null: it was not
  std::vector<const Move*> moves;          // from the value back

  // The parameter by which an element of the value was dequantized; nothing of the number 0 in a padding.
  [[nodiscard]] std::optional<std::size_t> parameter_of(std::int64_t index) const {
    for (const Move* move : moves) {
      if (move->index.empty()) continue;
      index = move->index[static_cast<std::size_t>(index)];
      if (index < 0) return std::nullopt;
    }
    return dequantize->node.layout.parameter_of(index);
  }
  [[nodiscard]] double scale() const { return dequantize->node.x_scale.empty() ? 0 : dequantize->node.x_scale.front(); }
};

// Not of its first block alone: a layout of one parameter has no axis.
bool has_several(const std::vector<double>& scales) {
  return scales.size() > 1;
}

class Detector {
 public:
  explicit Detector(const GraphProgram& lowered)
      : program_(lowered.program), by_value_(program_.values.size()), readers_(program_.values.size()) {
    for (const Step& step : program_.steps) {
      by_value_[step.result] = &step;
      std::set<ValueId> read(step.operands.begin(), step.operands.end());
      for (const ValueId id : read) ++readers_[id];
    }
    for (const ValueId id : program_.outputs) ++readers_[id];
  }

  CornerCaseCounts counts;

  void examine(const Step& step) {
    if (readers_[step.result] > 1) examine_shared(step);
    std::visit([&](const auto& what) { examine(step, what); }, step.what);
  }

 private:
  [[nodiscard]] std::int64_t elements(const Step& step) const {
    return elements_of(program_.values[step.result].shape);
  }
  // A corner case that only the shape shows counts where nothing is computed, too.
  void add(CornerCase corner_case, const Step& step) {
    counts.add(corner_case, std::max<std::int64_t>(elements(step), 1));
  }

  [[nodiscard]] Origin origin_of(ValueId id) const {
    Origin origin;
    while (const Step* step = by_value_[id]) {
      if ((origin.dequantize = std::get_if<Dequantize>(&step->what)) != nullptr) {
        origin.step = step;
        return origin;
      }
      const auto* move = std::get_if<Move>(&step->what);
      if (move == nullptr || step->operands.size() != 1) break;
      origin.moves.push_back(move);
      id = step->operands[0];
    }
    return origin;
  }

  void examine_shared(const Step& step) {
    if (std::holds_alternative<Quantize>(step.what) || std::holds_alternative<Dequantize>(step.what)) {
      add(CornerCase::shared_value, step);
    }
  }

  void examine(const Step& step, const Quantize& quantize) {
    if (has_several(quantize.node.y_scale)) add(CornerCase::data_axis, step);
    const Step* before = by_value_[step.operands[0]];
    if (before == nullptr) return;
    if (const auto* clip = std::get_if<Elementwise>(&before->what)) examine_clip(step, *clip, quantize.node);
    examine_requantized(step, quantize.node);
  }

  // Through movement and maxima back to a Dequantize of other parameters.
  void examine_requantized(const Step& step, const reference::QuantizeLinear& node) {
    bool is_moved = false;
    ValueId id = step.operands[0];
    const Step* before = by_value_[id];
    while (before != nullptr &&
           (std::holds_alternative<Move>(before->what) || std::holds_alternative<Extreme>(before->what)) &&
           before->operands.size() == 1) {
      is_moved = true;
      before = by_value_[before->operands[0]];
    }
    const auto* dequantize = before == nullptr ? nullptr : std::get_if<Dequantize>(&before->what);
    if (dequantize == nullptr) return;
    const bool is_same = dequantize->node.x_scale == node.y_scale && dequantize->node.x_type == node.y_type &&
                         std::equal(node.y_zero_point.begin(), node.y_zero_point.end(),
                                    dequantize->node.x_zero_point.begin(), dequantize->node.x_zero_point.end());
    if (!is_same) add(is_moved ? CornerCase::requantized_movement : CornerCase::requantized_pair, step);
  }

  void examine_clip(const Step& step, const Elementwise& clip, const reference::QuantizeLinear& node) {
    if (clip.function != Function::clip) return;
    if (clip.alpha > clip.beta) return add(CornerCase::activation_reversed, step);
    if (node.y_scale.empty()) return;
    const auto range = is_integer(node.y_type) ? reference::range_of(node.y_type) : reference::IntegerRange{-448, 448};
    const double scale = node.y_scale.front();
    const double zero_point = node.y_zero_point.front();
    const auto is_at = [&](double bound, double end) { return std::fabs(bound / scale + zero_point - end) < 1.5; };
    if (is_at(clip.alpha, range.lo) && is_at(clip.beta, range.hi)) add(CornerCase::activation_at_end, step);
  }

  void examine(const Step&, const Dequantize&) {}
  void examine(const Step&, const Extreme&) {}
  void examine(const Step&, const ArgMax&) {}
  void examine(const Step&, const TopK&) {}
  void examine(const Step&, const Requantize&) {}
  void examine(const Step& step, const Normalize& normalize) {
    const Origin x = origin_of(step.operands[0]);
    if (x.dequantize == nullptr || x.dequantize->node.x_scale.size() != 1) return;
    for (const Move* move : x.moves) {
      if (!move->index.empty()) return;
    }
    const std::vector<double>& stated = program_.values[x.step->operands[0]].stated;
    const auto length = static_cast<std::size_t>(normalize.length);
    for (std::size_t row = 0; length > 0 && row + length <= stated.size(); row += length) {
      const auto is_first = [&](double value) { return value == stated[row]; };
      const bool is_even = std::all_of(&stated[row], &stated[row] + length, is_first);
      if (is_even) counts.add(CornerCase::even_row, normalize.length);
    }
  }
  void examine(const Step& step, const Softmax& softmax) {
    if (softmax.length == 1) add(CornerCase::one_element_softmax, step);
  }

  void examine(const Step& step, const Move&) { examine_operands(step); }
  void examine(const Step& step, const Elementwise& what) {
    examine_operands(step);
    if (what.function == Function::add && step.operands.size() == 2) {
      const Step* sum = by_value_[step.operands[0]];
      if (sum != nullptr && std::holds_alternative<WeightedSum>(sum->what)) examine_bias(step, *sum, step.operands[1]);
    }
  }

  // Whether the operands are dequantized otherwise, or moved.
  void examine_operands(const Step& step) {
    const Origin first = origin_of(step.operands[0]);
    if (first.dequantize == nullptr) return;
    if (std::holds_alternative<Elementwise>(step.what)) {
      if (!first.moves.empty()) add(CornerCase::moved_operand, step);
      if (has_several(first.dequantize->node.x_scale)) add(CornerCase::data_axis, step);
    }
    for (std::size_t i = 1; i < step.operands.size(); ++i) {
      const Origin other = origin_of(step.operands[i]);
      if (other.dequantize == nullptr) continue;
      const auto& a = first.dequantize->node;
      const auto& b = other.dequantize->node;
      if (a.x_scale == b.x_scale && a.x_zero_point == b.x_zero_point) continue;
      add(CornerCase::unlike_operands, step);
      return;
    }
  }

  void examine(const Step& step, const WeightedSum& sum) {
    if (!sum.has_factor) return;
    const Origin x = origin_of(step.operands[0]);
    const Origin w = origin_of(step.operands[1]);
    if (sum.alpha != 1 || (step.operands.size() > 2 && sum.beta != 1)) add(CornerCase::scaled_terms, step);
    if (x.dequantize != nullptr && !x.moves.empty()) add(CornerCase::moved_operand, step);
    if (x.dequantize != nullptr && has_several(x.dequantize->node.x_scale)) add(CornerCase::data_axis, step);
    if (w.dequantize != nullptr) examine_weights(step, sum, w);
    if (is_read_by_sums(step.operands[1])) add(CornerCase::shared_weights, step);
    examine_terms(step, sum);
    if (step.operands.size() > 2) examine_bias(step, step, step.operands[2]);
  }

  // By another sum as well.
  [[nodiscard]] bool is_read_by_sums(ValueId id) const {
    if (readers_[id] < 2) return false;
    std::size_t sums = 0;
    for (const Step& step : program_.steps) {
      if (!std::holds_alternative<WeightedSum>(step.what)) continue;
      sums += std::count(step.operands.begin() + 1, step.operands.end(), id) > 0 ? 1U : 0U;
    }
    return sums > 1;
  }

  // Whether the terms of one output have weights of several scales or zero points.
  void examine_weights(const Step& step, const WeightedSum& sum, const Origin& w) {
    const auto& node = w.dequantize->node;
    if (!has_several(node.x_scale)) return;
    if (node.layout.is_blocked()) {
      if (node.layout.channels % node.layout.block != 0) add(CornerCase::cut_block, step);
      return add(CornerCase::weight_blocks, step);
    }
    if (elements(step) == 0 || program_.values[step.operands[0]].shape.empty()) return;
    std::optional<std::size_t> first;
    bool differs = false;
    const auto note = [&](std::int64_t, std::int64_t b) {
      const auto parameter = w.parameter_of(b);
      if (!parameter) return;
      if (!first) first = parameter;
      differs = differs || node.x_scale[*parameter] != node.x_scale[*first] ||
                node.x_zero_point[*parameter] != node.x_zero_point[*first];
    };
    // The last element: windows at the begin may lie in the padding.
    sum.for_each_term(static_cast<std::size_t>(elements(step) - 1), note);
    if (differs) add(CornerCase::weight_axis, step);
  }

  void examine_terms(const Step& step, const WeightedSum& sum) {
    const auto* matrix = std::get_if<MatrixTaps>(&sum.taps);
    if (matrix == nullptr) return;
    if (matrix->k == 0) add(CornerCase::no_terms, step);
    if (matrix->k > kManyTerms) add(CornerCase::many_terms, step);
  }

  // `bias` is added to `sum`, in the same step or behind it.
  void examine_bias(const Step& step, const Step& sum, ValueId bias) {
    const Origin own = origin_of(bias);
    if (own.dequantize == nullptr) {
      if (by_value_[bias] == nullptr) add(CornerCase::real_bias, step);
      return;
    }
    if (is_read_by_sums(bias)) add(CornerCase::shared_weights, step);
    if (own.dequantize->node.x_type != ElementType::int32) return;
    const Origin x = origin_of(sum.operands[0]);
    const Origin w = origin_of(sum.operands[1]);
    if (x.dequantize == nullptr || w.dequantize == nullptr) return;
    examine_bias_scale(step, own, x.scale() * w.scale());
    const std::vector<double>& stated = program_.values[own.step->operands[0]].stated;
    const auto is_large = [](double value) { return std::fabs(value) >= 0x1p30; };
    if (std::any_of(stated.begin(), stated.end(), is_large)) add(CornerCase::bias_near_int32, step);
  }

  void examine_bias_scale(const Step& step, const Origin& bias, double product) {
    const double scale = bias.scale();
    if (scale == rounded_to_type(bias.dequantize->node.scale_type, product)) return;
    const bool is_near = std::fabs(scale / product - 1) < kNear;
    add(is_near ? CornerCase::bias_scale_near : CornerCase::bias_scale_far, step);
    if (std::fabs(product) < 1e-6) add(CornerCase::tiny_bias_scale, step);
  }

  const Program& program_;
  std::vector<const Step*> by_value_;
  std::vector<std::size_t> readers_;
};

// A range that a DynamicQuantizeLinear takes its scale from, counted by the elements that it quantizes.
void add_dynamic(const DynamicScale& scale, const Program& program, CornerCaseCounts& counts) {
  if (!scale.range) return;
  std::int64_t elements = 1;
  for (const Step& step : program.steps) {
    const bool reads = std::find(step.operands.begin(), step.operands.end(), scale.scale) != step.operands.end();
    if (reads) elements = std::max(elements, elements_of(program.values[step.result].shape));
  }
  const auto [least, most] = *scale.range;
  if (least == 0 && most == 0) return counts.add(CornerCase::zero_range, elements);
  if (least == 0 || most == 0) counts.add(CornerCase::one_sided_range, elements);
  const double shift = -255.0 * least / (static_cast<double>(most) - least);
  if (std::fabs(shift - std::floor(shift) - 0.5) < 0x1p-22 * shift) {
    counts.add(CornerCase::tied_dynamic_zero_point, elements);
  }
}

}  // namespace
}  // namespace graph_corner_case_detectors

namespace {

// A zero point of int32 is 0 anyway.
bool is_int32(const Case& test_case, const std::string& name) {
  const auto found = std::find(test_case.input_names.begin(), test_case.input_names.end(), name);
  if (found == test_case.input_names.end()) return false;
  return test_case.inputs[static_cast<std::size_t>(found - test_case.input_names.begin())]->type == ElementType::int32;
}

}  // namespace

QuantizationsStated quantizations_of(const Case& test_case) {
  QuantizationsStated result;
  std::map<std::string_view, std::string_view> scales;  // scale to the value that it scales
  for (const Node& node : test_case.nodes) {
    const bool is_dequantize = node.op_type == "DequantizeLinear";
    if (!is_dequantize && node.op_type != "QuantizeLinear") continue;
    const bool is_typed = std::any_of(node.attributes.begin(), node.attributes.end(),
                                      [](const Attribute& attribute) { return attribute.name == "output_dtype"; });
    const bool is_stated = node.inputs.size() > 2 && !node.inputs[2].empty();
    const bool omits = !is_stated && !node.inputs.empty() && !is_int32(test_case, node.inputs[0]);
    result.omits_zero_point = result.omits_zero_point || omits;
    result.types_output = result.types_output || (omits && is_typed && !is_dequantize);
    if (!is_dequantize || node.inputs.size() < 2) continue;
    const auto [at, is_new] = scales.emplace(node.inputs[1], node.inputs[0]);
    result.shares_parameters = result.shares_parameters || (!is_new && at->second != node.inputs[0]);
  }
  return result;
}

CornerCaseCounts graph_corner_cases(const GraphProgram& lowered, const QuantizationsStated& quantizations) {
  graph_corner_case_detectors::Detector detector(lowered);
  for (const reference::graph::Step& step : lowered.program.steps) detector.examine(step);
  const std::int64_t elements = elements_of(lowered.program.values[lowered.program.outputs[0]].shape);
  if (quantizations.shares_parameters) detector.counts.add(CornerCase::shared_parameters, elements);
  if (quantizations.omits_zero_point) detector.counts.add(CornerCase::omitted_zero_point, elements);
  for (const DynamicScale& scale : dynamic_scales(lowered.program)) {
    graph_corner_case_detectors::add_dynamic(scale, lowered.program, detector.counts);
  }
  if (quantizations.types_output) detector.counts.add(CornerCase::typed_output, elements);
  return detector.counts;
}

}  // namespace qconform
