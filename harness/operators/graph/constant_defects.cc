// Passes of optimisers that convert biases, weights and their parameters wrongly.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/pipeline.h"
#include "reference/numerics/integers.h"

namespace qconform::diagnose {
namespace {

using Scales = std::vector<float>;  // one, or one for each channel of the output

bool is_sum(const Node& node) {
  return node.op_type == "Conv" || node.op_type == "ConvTranspose" || node.op_type == "Gemm" ||
         node.op_type == "MatMul";
}

// DQ of an initializer, whose scales are initializers too.
struct ConstantData {
  std::size_t dq;
  Tensor data;
  Tensor scale;
  std::int64_t axis;  // the axis of several scales; not negative
};
std::optional<ConstantData> constant_data(const Case& graph, const std::string& value) {
  const auto dq = maker_of(graph, value, "DequantizeLinear");
  if (!dq) return {};
  const Node& node = graph.nodes[*dq];
  const Tensor* data = initializer_of(graph, node.inputs[0]);
  const Tensor* scale = initializer_of(graph, node.inputs[1]);
  if (data == nullptr || scale == nullptr || scale->type != ElementType::float32) return {};
  if (scale->shape.size() > 1 || node.attribute("block_size") != nullptr) return {};
  const auto rank = static_cast<std::int64_t>(data->shape.size());
  const std::int64_t axis = node.get_or<std::int64_t>("axis", 1);
  return ConstantData{*dq, *data, *scale, axis < 0 ? axis + rank : axis};
}

// The axis of the node's weights that has the channels of the output.
std::int64_t channel_axis(const Node& node, std::int64_t rank) {
  if (node.op_type == "Conv") return 0;
  if (node.op_type == "ConvTranspose") return 1;
  if (node.op_type == "Gemm") return node.get_or<std::int64_t>("transB", 0) != 0 ? 0 : 1;
  return rank - 1;
}

bool has_axis(const ConstantData& w) {
  return w.scale.elements() > 1;
}

// sx * sw of a sum of dequantized data and weights, where an integer kernel could have them.
std::optional<Scales> scales_of_sum(const Case& graph, const Node& node) {
  const auto x = maker_of(graph, node.inputs[0], "DequantizeLinear");
  const auto w = constant_data(graph, node.inputs[1]);
  const Tensor* sx = x ? initializer_of(graph, graph.nodes[*x].inputs[1]) : nullptr;
  if (!w || sx == nullptr || sx->type != ElementType::float32 || sx->elements() != 1) return {};
  const auto rank = static_cast<std::int64_t>(w->data.shape.size());
  if (has_axis(*w) && w->axis != channel_axis(node, rank)) return {};
  Scales scales = w->scale.values<float>();
  for (float& scale : scales) scale *= float_at(*sx, 0);
  return scales;
}

// Biases. Each is given to the sum in a new form: int32 with scales.

Case with_bias(Case graph, std::size_t sum, Tensor integers, const Scales& scales) {
  const bool is_one = scales.size() == 1;
  const std::string data = add_initializer(graph, std::move(integers));
  const std::string scale = add_initializer(
      graph, is_one ? make::float32(scales[0]) : make::float32({static_cast<std::int64_t>(scales.size())}, scales));
  std::vector<Attribute> attributes;
  if (!is_one) attributes.push_back({"axis", std::int64_t{0}});
  const std::string bias = add_node(graph, sum, "DequantizeLinear", {data, scale}, std::move(attributes));
  graph.nodes[sum + 1].inputs[2] = bias;
  return graph;
}

// The bias of a sum as a kernel in integers would have it.
struct IntegerBias {
  Tensor integers;
  Scales stated;  // the scales of its DQ
  Scales of_sum;  // sx * sw
};
std::optional<IntegerBias> integer_bias(const Case& graph, const Node& node) {
  if (!is_sum(node) || input_of(node, 2).empty()) return {};
  const auto b = constant_data(graph, node.inputs[2]);
  const auto scales = scales_of_sum(graph, node);
  if (!b || !scales || b->data.type != ElementType::int32 || b->data.shape.size() != 1) return {};
  return IntegerBias{b->data, b->scale.values<float>(), *scales};
}

bool fits(const Tensor& bias, const Scales& scales) {
  return bias.shape.size() == 1 && (scales.size() == 1 || static_cast<std::int64_t>(scales.size()) == bias.shape[0]);
}

// Takes integer biases for what sx * sw would make of them, where `is_near` says so of every scale.
template <typename IsNear>
Case take_bias_scale(const Case& graph, IsNear is_near) {
  Case result = graph;
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    const auto bias = integer_bias(result, result.nodes[i]);
    if (!bias || !fits(bias->integers, bias->of_sum) || bias->stated == bias->of_sum) continue;
    bool all = true;
    const std::size_t count = std::max(bias->stated.size(), bias->of_sum.size());
    for (std::size_t s = 0; s < count; ++s) {
      all = all &&
            is_near(bias->stated[bias->stated.size() == 1 ? 0 : s], bias->of_sum[bias->of_sum.size() == 1 ? 0 : s]);
    }
    if (all) result = with_bias(std::move(result), i++, bias->integers, bias->of_sum);
  }
  return pruned(std::move(result));
}

Case take_any_bias_scale(const Case& graph) {
  return take_bias_scale(graph, [](float, float) { return true; });
}

Case take_near_bias_scale(const Case& graph) {
  return take_bias_scale(graph, [](float stated, float of_sum) {
    return std::fabs(stated - of_sum) <= 0.01F * std::fabs(of_sum) + 1e-6F;
  });
}

Tensor quantized_bias(const Tensor& bias, const Scales& scales) {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int64_t> integers;
  for (std::int64_t i = 0; i < bias.elements(); ++i) {
    const float scale = scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    const double steps = reference::round_half_even(static_cast<double>(float_at(bias, i) / scale));
    integers.push_back(static_cast<std::int64_t>(std::clamp(steps, -kMost, kMost)));
  }
  return make::int32(bias.shape, integers);
}

const Tensor* float_bias(const Case& graph, const Node& node) {
  if (!is_sum(node)) return nullptr;
  const Tensor* bias = initializer_of(graph, input_of(node, 2));
  return bias != nullptr && bias->type == ElementType::float32 && bias->shape.size() == 1 ? bias : nullptr;
}

Case round_biases(const Case& graph) {
  Case result = graph;
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    const Tensor* bias = float_bias(result, result.nodes[i]);
    const auto scales = bias == nullptr ? std::nullopt : scales_of_sum(result, result.nodes[i]);
    if (!scales || !fits(*bias, *scales)) continue;
    Tensor integers = quantized_bias(*bias, *scales);
    result = with_bias(std::move(result), i++, std::move(integers), *scales);
  }
  return pruned(std::move(result));
}

// A bias that several sums read is converted for the first of them.
Case share_biases(const Case& graph) {
  Case result = graph;
  std::map<std::string, Tensor> integers;
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    const Node& node = result.nodes[i];
    const std::string name = is_sum(node) ? input_of(node, 2) : std::string();
    const auto scales = name.empty() ? std::nullopt : scales_of_sum(result, node);
    if (!scales) continue;
    const auto constant = constant_data(result, name);
    const Tensor* bias = float_bias(result, node);
    if (!constant && bias == nullptr) continue;
    const Tensor& stated = constant ? constant->data : *bias;
    if (!fits(stated, *scales)) continue;
    const auto [known, is_first] = integers.try_emplace(name, constant ? stated : quantized_bias(stated, *scales));
    if (is_first) continue;
    result = with_bias(std::move(result), i++, known->second, *scales);
  }
  return pruned(std::move(result));
}

// Weights and parameters.

Case take_channel_axis(const Case& graph) {
  Case result = graph;
  for (const Node& node : graph.nodes) {
    const auto w = is_sum(node) ? constant_data(graph, node.inputs[1]) : std::nullopt;
    if (!w || !has_axis(*w)) continue;
    const std::int64_t axis = channel_axis(node, static_cast<std::int64_t>(w->data.shape.size()));
    if (w->axis == axis || w->data.shape[static_cast<std::size_t>(axis)] != w->scale.shape[0]) continue;
    set_node_attribute(result.nodes[w->dq], "axis", axis);
  }
  return result;
}

bool is_zero(const Case& graph, const std::string& name) {
  const Tensor* tensor = initializer_of(graph, name);
  return name.empty() || (tensor != nullptr && std::all_of(tensor->bytes.begin(), tensor->bytes.end(),
                                                           [](std::byte byte) { return byte == std::byte{0}; }));
}

Case hold_as_uint8(const Case& graph) {
  Case result = graph;
  for (const Node& node : graph.nodes) {
    const auto w = is_sum(node) ? constant_data(graph, node.inputs[1]) : std::nullopt;
    if (!w || w->data.type != ElementType::int8 || !is_zero(graph, input_of(graph.nodes[w->dq], 2))) continue;
    Tensor positive = w->data;
    for (std::byte& byte : positive.bytes) {
      if (std::to_integer<int>(byte) > 127) byte = std::byte{0};
    }
    result.nodes[w->dq].inputs[0] = add_initializer(result, std::move(positive));
  }
  return pruned(std::move(result));
}

Tensor all_as_first(const Tensor& tensor) {
  Tensor result = tensor;
  const int bits = bits_of(tensor.type);
  for (std::int64_t i = 1; i < tensor.elements(); ++i) {
    set_raw_bits_at(result.bytes, bits, i, raw_bits_at(tensor.bytes, bits, 0));
  }
  return result;
}

Case take_first_parameters(const Case& graph) {
  Case result = graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const bool has_parameters =
        graph.nodes[i].op_type == "DequantizeLinear" || graph.nodes[i].op_type == "QuantizeLinear";
    for (std::size_t position = 1; has_parameters && position < graph.nodes[i].inputs.size(); ++position) {
      const Tensor* parameter = initializer_of(graph, graph.nodes[i].inputs[position]);
      if (parameter == nullptr || parameter->elements() < 2) continue;
      result.nodes[i].inputs[position] = add_initializer(result, all_as_first(*parameter));
    }
  }
  return pruned(std::move(result));
}

// Returns which input of the node is the scale of a quantized Softmax: of QLinearSoftmax, or of a Q behind a Softmax
// behind a DQ, where both have one type of 8 bits.
std::optional<std::size_t> scale_of_softmax(const Case& graph, const Node& node) {
  if (node.op_type == "QLinearSoftmax") return 3;
  if (node.op_type != "QuantizeLinear") return {};
  const std::string& shares = node.inputs[0];
  const auto softmax = maker_of(graph, shares, "Softmax");
  if (!softmax || is_output(graph, shares) || readers_of(graph, shares).size() != 1) return {};
  const auto dq = maker_of(graph, graph.nodes[*softmax].inputs[0], "DequantizeLinear");
  if (!dq || node.attribute("output_dtype") != nullptr) return {};
  // A Q without a zero point makes uint8 of it, also the one in front of the DQ.
  const auto type_of = [&](const std::string& name) {
    const Tensor* tensor = initializer_of(graph, name);
    return tensor == nullptr ? ElementType::uint8 : tensor->type;
  };
  const ElementType type = type_of(input_of(node, 2));
  const bool has_8_bits = type == ElementType::uint8 || type == ElementType::int8;
  return has_8_bits && type_of(input_of(graph.nodes[*dq], 2)) == type ? std::optional<std::size_t>(1) : std::nullopt;
}

Case cut_inverse_scales(const Case& graph) {
  Case result = graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto position = scale_of_softmax(graph, graph.nodes[i]);
    const Tensor* scale = position ? initializer_of(graph, graph.nodes[i].inputs[*position]) : nullptr;
    if (scale == nullptr || scale->type != ElementType::float32 || scale->elements() != 1) continue;
    const float inverse = std::trunc(1 / float_at(*scale, 0));
    if (!(float_at(*scale, 0) > 0) || !std::isfinite(inverse)) continue;
    const float cut = inverse < 1 ? std::numeric_limits<float>::max() : 1 / inverse;
    if (cut != float_at(*scale, 0))
      result.nodes[i].inputs[*position] = add_initializer(result, make::float32(scale->shape, {cut}));
  }
  return pruned(std::move(result));
}

constexpr Defect kConstants[] = {
    {.id = "bias-raw",
     .description = "an integer bias is taken to have the scale sx * sw",
     .operators = {kGraphSubject},
     .trigger = "a bias of int32 that is not 0, with a scale other than sx * sw",
     .rule = "C20",
     .evidence = "torch-mlir#4645, torch-mlir#4080, onnx-mlir#439",
     .replace = [](Stages& s) { s.set(graph_stage::biases, take_any_bias_scale); }},
    {.id = "bias-scale-epsilon",
     .description = "an integer bias is taken to have the scale sx * sw where that is 1 % or 1e-6 off",
     .operators = {kGraphSubject},
     .trigger = "a bias of int32 that is not 0, with a scale up to 1 % or 1e-6 off sx * sw",
     .rule = "C20",
     .evidence = "onnxruntime#24711, onnxruntime#28229",
     .replace = [](Stages& s) { s.set(graph_stage::biases, take_near_bias_scale); }},
    {.id = "bias-of-first-consumer",
     .description = "a bias that several sums read is converted to integers for the first of them",
     .operators = {kGraphSubject},
     .trigger = "a bias that is not 0, read by sums of other scales",
     .rule = "C20",
     .evidence = "onnxruntime-qnn#739",
     .replace = [](Stages& s) { s.set(graph_stage::biases, share_biases); }},
    {.id = "bias-rounded",
     .description = "a float bias is rounded to a multiple of sx * sw",
     .operators = {kGraphSubject},
     .trigger = "a float bias that is no multiple of sx * sw",
     .rule = "C20",
     .evidence = "onnxruntime#24711",
     .replace = [](Stages& s) { s.set(graph_stage::biases, round_biases); },
     .avoided_by = "onnxruntime: session.disable_quant_qdq=1"},
    {.id = "w-axis-ignored",
     .description = "scales of weights along another axis are taken to lie along the channels of the output",
     .operators = {kGraphSubject},
     .trigger = "weights with scales along another axis of as many elements",
     .rule = "D7",
     .evidence = "onnxruntime#21712",
     .replace = [](Stages& s) { s.set(graph_stage::weights, take_channel_axis); }},
    {.id = "q-default-uint8",
     .description = "int8 weights go through a Q that defaults to uint8: negative ones become 0",
     .operators = {kGraphSubject},
     .trigger = "negative int8 weights with zero point 0",
     .rule = "formula",
     .evidence = "onnxruntime#27845, onnxruntime#28491",
     .replace = [](Stages& s) { s.set(graph_stage::weights, hold_as_uint8); }},
    {.id = "softmax-inverse-cut",
     .description = "the Q of a Softmax multiplies by 1 / y_scale, cut to an integer",
     .operators = {kGraphSubject},
     .trigger = "1 / y_scale that is no integer in float32, such as 1 / float32(1/255)",
     .rule = "formula",
     .evidence = "ONNX Runtime 1.30.0",
     .replace = [](Stages& s) { s.set(graph_stage::parameters, cut_inverse_scales); }},
    {.id = "per-axis-first",
     .description = "the first scale and zero point of a Q or DQ serve all elements",
     .operators = {kGraphSubject},
     .trigger = "scales or zero points that differ along an axis",
     .rule = "D7",
     .evidence = "AMDMIGraphX#2704",
     .replace = [](Stages& s) { s.set(graph_stage::parameters, take_first_parameters); }},
};

}  // namespace

std::span<const Defect> graph_constant_defects() {
  return kConstants;
}

}  // namespace qconform::diagnose
