// Lists the features that tell quantized graphs apart in a few words: operators, types and parameters around the node
// that computes, its geometry.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "harness/core/case.h"
#include "harness/graphs/node_lowering.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/operators/convolution/diagnosis.h"
#include "harness/operators/graph/graph.h"
#include "harness/operators/graph/pipeline.h"

namespace qconform::diagnose {
namespace {

using namespace reference::graph;

// The first step that computes from several terms or operands, and the quantizations around it.
class GraphView {
 public:
  GraphView(const Case& of, const Expected& with)
      : test_case(of), output(*with.output), program(graph_program_of(*with.classification.lowered)->program) {
    std::vector<const Step*> by_value(program.values.size());
    for (const Step& step : program.steps) by_value[step.result] = &step;
    for (const Step& step : program.steps) {
      if (const auto* quantize = std::get_if<Quantize>(&step.what)) y = &quantize->node;
      if (compute == nullptr && computes(step)) compute = &step;
    }
    if (compute == nullptr) return;
    for (std::size_t i = 0; i < compute->operands.size(); ++i)
      operands[std::min<std::size_t>(i, 2)] = origin(by_value, i);
    if (const auto* sum = std::get_if<WeightedSum>(&compute->what)) {
      if (const auto* taps = std::get_if<ConvolutionTaps>(&sum->taps)) geometry = &taps->geometry;
      matrix = std::get_if<MatrixTaps>(&sum->taps);
    }
  }

  const Case& test_case;
  const Tensor& output;  // the first one
  const Program& program;
  const reference::QuantizeLinear* y = nullptr;  // the last one
  const Step* compute = nullptr;
  std::array<const reference::DequantizeLinear*, 3> operands{};  // x, w or the other operand, the bias
  const reference::ConvolutionGeometry* geometry = nullptr;
  const MatrixTaps* matrix = nullptr;

  [[nodiscard]] const Shape& shape(std::size_t operand) const {
    return program.values[compute->operands[operand]].shape;
  }
  [[nodiscard]] bool has_both() const { return operands[0] != nullptr && operands[1] != nullptr; }

 private:
  static bool computes(const Step& step) {
    if (std::holds_alternative<WeightedSum>(step.what)) return true;
    return std::holds_alternative<Elementwise>(step.what) && step.operands.size() == 2;
  }

  [[nodiscard]] const reference::DequantizeLinear* origin(const std::vector<const Step*>& by_value,
                                                          std::size_t operand) const {
    const Step* step = by_value[compute->operands[operand]];
    while (step != nullptr && std::holds_alternative<Move>(step->what) && step->operands.size() == 1)
      step = by_value[step->operands[0]];
    const auto* dequantize = step == nullptr ? nullptr : std::get_if<Dequantize>(&step->what);
    return dequantize == nullptr ? nullptr : &dequantize->node;
  }
};

using GraphQuestions = FeatureQuestions<GraphView>;

void add_operators(GraphQuestions& all) {
  std::set<std::string_view> names;
  for (const auto& list : lowering::all_node_operators()) {
    for (const lowering::NodeOperator& known : list) names.insert(known.name);
  }
  for (const std::string_view name : {"QuantizeLinear", "DequantizeLinear"}) names.erase(name);
  for (const std::string_view name : names) {
    all.add(std::string(name), [=](const GraphView& v) {
      return std::any_of(v.test_case.nodes.begin(), v.test_case.nodes.end(),
                         [&](const Node& node) { return node.op_type == name; });
    });
  }
}

// Questions about the quantization of one operand.
void add_operand(GraphQuestions& all, std::size_t operand, const std::string& name) {
  const auto exists = [=](const GraphView& v) { return v.operands[operand] != nullptr; };
  for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
    all.add(fmt::format("{} {}", name, qconform::name_of(type)),
            [=](const GraphView& v) { return exists(v) && v.operands[operand]->x_type == type; });
  }
  all.add_both(exists, name + "'s zero point != 0", name + "'s zero point 0",
               [=](const GraphView& v) { return any_nonzero(v.operands[operand]->x_zero_point); });
  all.add_both(exists, name + "'s scale differs by channel", name + "'s scale the same for all channels",
               [=](const GraphView& v) { return differ(v.operands[operand]->x_scale); });
  all.add_both(exists, name + "'s zero point differs by channel", name + "'s zero point the same for all channels",
               [=](const GraphView& v) { return differ(v.operands[operand]->x_zero_point); });
}

bool has_bias_of_other_scale(const GraphView& v) {
  if (!v.has_both() || v.operands[2] == nullptr) return false;
  const auto scale = [&](std::size_t operand) {
    const std::vector<double>& scales = v.operands[operand]->x_scale;
    return scales.empty() ? 0 : scales.front();
  };
  return scale(2) != scale(0) * scale(1);
}

bool reaches_an_end(const GraphView& v) {
  const ElementType type = v.output.type;
  if (!is_integer(type) || bits_of(type) > 16) return false;
  const reference::IntegerRange range = reference::range_of(type);
  for (std::int64_t i = 0; i < v.output.elements(); ++i) {
    const std::int64_t value = integer_at(v.output, i);
    if (value == range.lo || value == range.hi) return true;
  }
  return false;
}

void add_quantizations(GraphQuestions& all) {
  add_operand(all, 0, "first operand");
  add_operand(all, 1, "second operand");
  const auto has_both = [](const GraphView& v) { return v.has_both(); };
  all.add_both(has_both, "zero points of both operands differ", "zero points of both operands alike",
               [](const GraphView& v) { return v.operands[0]->x_zero_point != v.operands[1]->x_zero_point; });
  all.add_both(has_both, "scales of both operands differ", "scales of both operands alike",
               [](const GraphView& v) { return v.operands[0]->x_scale != v.operands[1]->x_scale; });
  all.add_both("a bias", "no bias",
               [](const GraphView& v) { return v.compute != nullptr && v.compute->operands.size() > 2; });
  all.add_both("bias of another scale than its sum", "no bias of another scale than its sum", has_bias_of_other_scale);
  const auto is_quantized = [](const GraphView& v) { return v.y != nullptr; };
  for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
    all.add(fmt::format("y {}", qconform::name_of(type)),
            [=](const GraphView& v) { return v.y != nullptr && v.y->y_type == type; });
  }
  all.add("y an integer of 16 bits", [](const GraphView& v) { return v.y != nullptr && bits_of(v.y->y_type) == 16; });
  all.add_both(is_quantized, "y signed", "y unsigned",
               [](const GraphView& v) { return is_signed_integer(v.y->y_type); });
  all.add_both(is_quantized, "y_zero_point != 0", "y_zero_point = 0",
               [](const GraphView& v) { return any_nonzero(v.y->y_zero_point); });
  all.add_both(is_quantized, "y_zero_point odd", "y_zero_point even", [](const GraphView& v) {
    const auto& zero_points = v.y->y_zero_point;
    return std::any_of(zero_points.begin(), zero_points.end(), [](auto z) { return z % 2 != 0; });
  });
  all.add_both("y reaches an end of its range", "y reaches no end of its range", reaches_an_end);
  all.add_both(is_quantized, "y_scale differs by channel", "y_scale the same for all channels",
               [](const GraphView& v) { return differ(v.y->y_scale); });
}

bool any_axis_of(const GraphView& v, bool (*holds)(const reference::SpatialAxis&)) {
  return v.geometry != nullptr && std::any_of(v.geometry->axes.begin(), v.geometry->axes.end(), holds);
}

bool have_axes_that_differ(const GraphView& v, std::int64_t reference::SpatialAxis::*number) {
  return v.geometry != nullptr && axes_differ(v.geometry->axes, number);
}

// Whether an operand is repeated along an axis behind one along which it is not: it is not repeated as a whole.
bool is_repeated_inside(const Shape& operand, const Shape& other) {
  const std::size_t rank = std::max(operand.size(), other.size());
  const auto extent = [&](const Shape& shape, std::size_t axis) {
    return axis + shape.size() < rank ? 1 : shape[axis + shape.size() - rank];
  };
  bool is_behind = false;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (is_behind && extent(operand, axis) == 1 && extent(other, axis) > 1) return true;
    is_behind = is_behind || extent(operand, axis) > 1;
  }
  return false;
}

void add_shapes(GraphQuestions& all) {
  using reference::SpatialAxis;
  all.add_both("padded", "not padded", [](const GraphView& v) {
    return any_axis_of(v, [](const auto& a) { return a.pad_begin > 0 || a.pad_end > 0; });
  });
  all.add("padded behind",
          [](const GraphView& v) { return any_axis_of(v, [](const auto& a) { return a.pad_end > 0; }); });
  all.add("a stride > 1",
          [](const GraphView& v) { return any_axis_of(v, [](const auto& a) { return a.stride > 1; }); });
  all.add("a dilation > 1",
          [](const GraphView& v) { return any_axis_of(v, [](const auto& a) { return a.dilation > 1; }); });
  all.add("strides differ", [](const GraphView& v) { return have_axes_that_differ(v, &SpatialAxis::stride); });
  all.add("dilations differ", [](const GraphView& v) { return have_axes_that_differ(v, &SpatialAxis::dilation); });
  all.add("kernel extents differ", [](const GraphView& v) { return have_axes_that_differ(v, &SpatialAxis::kernel); });
  all.add_both([](const GraphView& v) { return v.geometry != nullptr; }, "group > 1", "group = 1",
               [](const GraphView& v) { return v.geometry->group > 1; });
  all.add("several products of matrices",
          [](const GraphView& v) { return v.matrix != nullptr && v.matrix->a_begin.size() > 1; });
  const auto is_pair = [](const GraphView& v) {
    return v.compute != nullptr && std::holds_alternative<Elementwise>(v.compute->what);
  };
  all.add_both(is_pair, "operands of different shapes", "operands of one shape",
               [](const GraphView& v) { return v.shape(0) != v.shape(1); });
  all.add("an operand repeated along an inner axis", [=](const GraphView& v) {
    return is_pair(v) && (is_repeated_inside(v.shape(0), v.shape(1)) || is_repeated_inside(v.shape(1), v.shape(0)));
  });
  all.add_both("several outputs", "one output", [](const GraphView& v) { return v.program.outputs.size() > 1; });
}

std::int64_t terms_of(const GraphView& v) {
  return v.geometry != nullptr ? v.geometry->depth() : v.matrix != nullptr ? v.matrix->k : 0;
}

std::int64_t channels_of(const GraphView& v) {
  return v.geometry != nullptr ? v.geometry->output_channels : v.matrix != nullptr ? v.matrix->n : 0;
}

void add_graph_sizes(GraphQuestions& all) {
  all.add_remainders("terms", terms_of);
  all.add_remainders("output channels", channels_of);
  all.add_size("channels of a group", [](const GraphView& v) {
    return v.geometry != nullptr && v.geometry->group > 1 ? v.geometry->group_output_channels() : 0;
  });
  all.add_size("nodes", [](const GraphView& v) { return std::ssize(v.test_case.nodes); });
  all.add_size("opset version",
               [](const GraphView& v) { return std::int64_t{v.test_case.nodes.front().opset_version}; });
}

}  // namespace

const FeatureList& graph_case_features() {
  static const FeatureList all = [] {
    GraphQuestions questions;
    for (const auto add : {add_operators, add_quantizations, add_shapes, add_graph_sizes}) add(questions);
    return std::move(questions).list();
  }();
  return all;
}

}  // namespace qconform::diagnose
