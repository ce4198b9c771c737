// Steps of random graphs with operators of com.microsoft that compute on quantized data, or take part in it.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/operators/graph/graph_draft.h"

namespace qconform::drawn_graphs {
namespace {

using enum ElementType;

constexpr char kMicrosoft[] = "com.microsoft";

std::int64_t lowest_of(ElementType type) {
  return type == uint8 ? 0 : -128;
}

/// A node without the quantization of its result, and that quantization.
struct QuantizedNode {
  const char* op_type;
  std::vector<std::string> inputs;
  std::vector<Attribute> attributes;
  ElementType type;
  float scale;
  std::int64_t zero_point;
};

// Adds the node, its result's parameters as its last inputs, and DQ.
std::optional<Wire> quantized_result(GraphDraft& d, QuantizedNode node) {
  node.scale = std::max(node.scale, 0x1p-120F);
  if (d.is_exact()) node.scale = std::exp2(std::ceil(std::log2(node.scale)));
  node.inputs.push_back(d.build.initializer(make::float32(node.scale)));
  node.inputs.push_back(d.build.initializer(make::integer(node.type, node.zero_point)));
  const Wire y{d.build.node(node.op_type, node.inputs, node.attributes, kMicrosoft), node.type, {}};
  return d.wire(d.dequantize(y, node.scale, node.zero_point).name);
}

// A second operand of this type, constant, and its parameters; returns its scale.
float add_operand(GraphDraft& d, ElementType type, Shape shape, std::vector<std::string>& inputs) {
  const float scale = d.draw_scale();
  const std::int64_t zero_point = d.zero_point(type);
  inputs.push_back(d.build.initializer(d.data(type, std::move(shape))));
  inputs.push_back(d.build.initializer(make::float32(scale)));
  inputs.push_back(d.build.initializer(make::integer(type, zero_point)));
  return scale;
}

std::optional<Wire> quantized_binary(GraphDraft& d, const Wire& x) {
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  QuantizedNode node{"QLinearAdd", q->inputs(), {}, q->type, 0, d.zero_point(q->type)};
  const float other = add_operand(d, q->type, {x.shape.back()}, node.inputs);
  node.scale = q->scale + other;
  if (d.rng.chance(1, 2)) {
    node.op_type = "QLinearMul";
    node.scale = q->scale * other * 64;
  }
  return quantized_result(d, std::move(node));
}

// Functions whose results are from 0 to 1.
std::optional<Wire> quantized_share(GraphDraft& d, const Wire& x) {
  if (d.is_exact() && d.rng.chance(7, 8)) return std::nullopt;
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  QuantizedNode node{"QLinearSigmoid", q->inputs(), {}, q->type, 1.0F / 256, lowest_of(q->type)};
  if (d.rng.chance(1, 2)) {
    node.op_type = "QLinearSoftmax";
    const auto rank = static_cast<std::int64_t>(x.shape.size());
    node.attributes.push_back({"axis", d.rng.chance(2, 3) ? rank - 1 : d.rng.between(0, rank - 1)});
    node.attributes.push_back({"opset", d.rng.chance(2, 3) ? d.opset() : std::int64_t{12}});
  }
  return quantized_result(d, std::move(node));
}

std::optional<Wire> quantized_slope(GraphDraft& d, const Wire& x) {
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  const std::int64_t zero_point = d.zero_point(q->type);
  return quantized_result(
      d, {"QLinearLeakyRelu", q->inputs(), {{"alpha", d.is_exact() ? 0.25F : 0.1F}}, q->type, q->scale, zero_point});
}

std::optional<Wire> quantized_mean(GraphDraft& d, const Wire& x) {
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  QuantizedNode node{"QLinearReduceMean", q->inputs(), {}, q->type, q->scale, d.zero_point(q->type)};
  node.attributes.push_back({"axes", Shape{d.rng.between(-1, rank - 1)}});
  node.attributes.push_back({"keepdims", d.rng.between(0, 1)});
  return quantized_result(d, std::move(node));
}

// Averages over windows or over all of them, with channels in front or last, or along an axis.
std::optional<Wire> quantized_average(GraphDraft& d, const Wire& x) {
  if (d.rng.chance(1, 8)) return quantized_mean(d, x);
  if (x.shape.size() != 4) return std::nullopt;
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  const bool is_last = d.rng.chance(1, 3);
  QuantizedNode node{"QLinearGlobalAveragePool", q->inputs(), {}, q->type, q->scale, d.zero_point(q->type)};
  node.attributes.push_back({"channels_last", std::int64_t{is_last ? 1 : 0}});
  if (d.rng.chance(2, 3)) {
    node.op_type = "QLinearAveragePool";
    const std::size_t first = is_last ? 1 : 2;
    Shape kernel;
    for (std::size_t i = first; i < first + 2; ++i) kernel.push_back(std::min(x.shape[i], d.rng.between(1, 3)));
    const auto pad = [&](std::size_t axis) { return kernel[axis] > 1 && d.rng.chance(1, 2) ? 1 : 0; };
    Shape pads{pad(0), pad(1), pad(0), pad(1)};
    node.attributes.push_back({"kernel_shape", kernel});
    draw_padding(d, std::move(pads), node.attributes);
    if (d.rng.chance(1, 2)) node.attributes.push_back({"strides", Shape{2, 1}});
    if (d.rng.chance(1, 4)) node.attributes.push_back({"ceil_mode", std::int64_t{1}});
    if (d.rng.chance(1, 3)) node.attributes.push_back({"count_include_pad", std::int64_t{1}});
  }
  return quantized_result(d, std::move(node));
}

std::optional<Wire> quantized_choice(GraphDraft& d, const Wire& x) {
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  std::vector<std::int64_t> truths(static_cast<std::size_t>(elements_of(x.shape)));
  for (std::int64_t& truth : truths) truth = d.rng.chance(1, 2) ? 1 : 0;
  const Tensor condition = make::integers(boolean, x.shape, truths);
  std::vector<std::string> inputs{d.rng.chance(1, 2) ? d.build.input(condition) : d.build.initializer(condition)};
  for (const std::string& name : q->inputs()) inputs.push_back(name);
  const float other = add_operand(d, q->type, d.rng.chance(1, 3) ? Shape{x.shape.back()} : x.shape, inputs);
  const std::int64_t zero_point = d.zero_point(q->type);
  return quantized_result(d, {"QLinearWhere", std::move(inputs), {}, q->type, std::max(q->scale, other), zero_point});
}

// The result's parameters come first.
std::optional<Wire> quantized_concat(GraphDraft& d, const Wire& x) {
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  const std::int64_t zero_point = d.zero_point(q->type);
  std::vector<std::string> operands = q->inputs();
  float scale = q->scale;
  const std::int64_t others = d.rng.between(0, 2);
  for (std::int64_t i = 0; i < others; ++i) scale = std::max(scale, add_operand(d, q->type, x.shape, operands));
  std::vector<std::string> inputs{d.build.initializer(make::float32(scale)),
                                  d.build.initializer(make::integer(q->type, zero_point))};
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  const std::vector<Attribute> attributes{{"axis", d.rng.between(-1, rank - 1)}};
  const Wire y{d.build.node("QLinearConcat", inputs, attributes, kMicrosoft), q->type, {}};
  return d.wire(d.dequantize(y, scale, zero_point).name);
}

// Channels lie last.
std::optional<Wire> quantized_maximum(GraphDraft& d, const Wire& x) {
  if (x.shape.size() != 4) return std::nullopt;
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  Shape kernel;
  for (std::size_t i = 1; i < 3; ++i) kernel.push_back(std::min(x.shape[i], d.rng.between(1, 3)));
  std::vector<Attribute> attributes{{"kernel_shape", kernel}};
  if (d.rng.chance(1, 2)) attributes.push_back({"strides", Shape{1, 2}});
  if (d.rng.chance(1, 4)) attributes.push_back({"ceil_mode", std::int64_t{1}});
  const Wire y{d.build.node("NhwcMaxPool", {q->name}, attributes, kMicrosoft), q->type, {}};
  return d.wire(d.dequantize(y, q->scale, q->zero_point).name);
}

// Q and DQ of com.microsoft, which have ONNX's parameters.
std::optional<Wire> microsoft_requantization(GraphDraft& d, const Wire& x) {
  const std::size_t nodes = d.build.node_count();
  const std::size_t initializers = d.build.initializer_count();
  const auto q = d.quantize(x, true);
  if (!q) return std::nullopt;
  d.build.keep(nodes, initializers);
  const std::string scale = d.build.initializer(make::float32(static_cast<float>(q->scale)));
  const std::string zero_point = d.build.initializer(make::integer(q->type, d.last_zero_point()));
  const std::string quantized = d.build.node("QuantizeLinear", {x.name, scale, zero_point}, {}, kMicrosoft);
  return d.wire(d.build.node("DequantizeLinear", {quantized, scale, zero_point}, {}, kMicrosoft));
}

std::optional<Wire> quick_gelu(GraphDraft& d, const Wire& x) {
  if (d.is_exact()) return std::nullopt;
  std::vector<Attribute> attributes;
  if (d.rng.chance(1, 2)) attributes.push_back({"alpha", 1.25F});
  return d.wire(d.build.node("QuickGelu", {x.name}, attributes, kMicrosoft));
}

// One product gives queries, keys and values; x is [batch, positions, size].
std::optional<Wire> quantized_attention(GraphDraft& d, const Wire& x) {
  if (x.shape.size() != 3 || d.is_exact()) return std::nullopt;
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  const std::int64_t heads = d.rng.between(1, 2);
  const std::int64_t columns = 3 * heads * d.rng.between(1, 4);
  const ElementType type = d.rng.chance(1, 2) ? q->type : int8;
  // Queries and keys of a few units, so that several keys have weight.
  const double largest = 256 * static_cast<double>(q->scale) * 128 * static_cast<double>(x.shape[2]);
  std::vector<float> scales(d.rng.chance(1, 4) ? static_cast<std::size_t>(columns) : 1);
  for (float& scale : scales) scale = static_cast<float>(std::exp2(std::round(3 - std::log2(largest))));
  const Shape per = scales.size() == 1 ? Shape{} : Shape{columns};
  const std::string bias = d.build.initializer(d.multiples({columns}, -16, 16, -4));
  const std::int64_t zero_point = d.zero_point(type);
  std::vector<std::string> inputs{q->name,
                                  d.build.initializer(d.data(type, {x.shape[2], columns})),
                                  bias,
                                  q->scale_name,
                                  d.build.initializer(make::float32(per, scales)),
                                  "",
                                  q->zero_point_name,
                                  d.build.initializer(make::integer(type, zero_point))};
  std::vector<Attribute> attributes{{"num_heads", heads}};
  const std::uint64_t mask = d.rng.below(3);
  if (mask == 1) attributes.push_back({"unidirectional", std::int64_t{1}});
  if (mask == 2) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(x.shape[0]));
    for (std::int64_t& length : lengths) length = d.rng.between(1, x.shape[1]);
    inputs[5] = d.build.initializer(make::int32({x.shape[0]}, lengths));
  }
  return d.wire(d.build.node("QAttention", inputs, attributes, kMicrosoft));
}

constexpr WeightedStep kMicrosoftSteps[] = {
    {quantized_binary, 1}, {quantized_share, 1},    {quantized_slope, 1},   {quantized_average, 1},
    {quantized_choice, 1}, {quantized_concat, 1},   {quantized_maximum, 1}, {microsoft_requantization, 1},
    {quick_gelu, 1},       {quantized_attention, 1}};

}  // namespace

std::span<const WeightedStep> microsoft_steps() {
  return kMicrosoftSteps;
}

}  // namespace qconform::drawn_graphs
