// Steps of random graphs that multiply: convolutions, products of matrices, recurrent layers, attention.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/operators/graph/graph_draft.h"
#include "reference/numerics/floats.h"

namespace qconform::drawn_graphs {
namespace {

using enum ElementType;

void draw_dilations(GraphDraft& d, const Wire& x, const Shape& kernel, std::vector<Attribute>& attributes) {
  if (!d.rng.chance(1, 6)) return;
  Shape dilations;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    dilations.push_back(kernel[i] > 1 && x.shape[i + 2] > kernel[i] ? 2 : 1);
  }
  attributes.push_back({"dilations", std::move(dilations)});
}

std::optional<Wire> conv(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 3) return std::nullopt;
  const std::int64_t channels = x.shape[1];
  std::int64_t group = d.rng.chance(1, 4) ? channels : 1;
  const std::int64_t width = group == 1 ? d.rng.between(1, 9) : d.rng.between(1, 2);
  Shape kernel;
  Shape pads;
  Shape strides;
  for (std::size_t i = 2; i < x.shape.size(); ++i) {
    kernel.push_back(std::min(x.shape[i], d.rng.between(1, 3)));
    pads.push_back(d.rng.chance(1, 2) ? d.rng.between(0, 1) : 0);
    strides.push_back(d.rng.chance(1, 4) ? 2 : 1);
  }
  const std::size_t axes = pads.size();
  for (std::size_t i = 0; i < axes; ++i) pads.push_back(pads[i]);
  Shape shape{group * width, channels / group};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  const Wire w = d.weights(shape, 0);
  std::vector<std::string> inputs{x.name, w.name};
  if (d.rng.chance(1, 2)) inputs.push_back(d.bias(shape[0], x, w));
  std::vector<Attribute> attributes{{"strides", strides}};
  draw_padding(d, pads, attributes);
  draw_dilations(d, x, kernel, attributes);
  if (group != 1) attributes.push_back({"group", group});
  return d.wire(d.build.node("Conv", inputs, attributes));
}

std::optional<Wire> conv_transpose(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 3) return std::nullopt;
  Shape shape{x.shape[1], d.rng.between(1, 4)};
  Shape strides;
  for (std::size_t i = 2; i < x.shape.size(); ++i) {
    shape.push_back(d.rng.between(1, 3));
    strides.push_back(d.rng.between(1, 2));
  }
  const Wire w = d.weights(shape, 1);
  std::vector<std::string> inputs{x.name, w.name};
  if (d.rng.chance(1, 2)) inputs.push_back(d.bias(shape[1], x, w));
  return d.wire(d.build.node("ConvTranspose", inputs, {{"strides", strides}}));
}

std::optional<Wire> gemm(GraphDraft& d, const Wire& x) {
  if (x.shape.size() != 2) return std::nullopt;
  const bool transposed = d.rng.chance(1, 2);
  const bool transposes_x = d.rng.chance(1, 6);
  const bool has_other_axis = d.rng.chance(1, 8);
  const std::int64_t terms = x.shape[transposes_x ? 0 : 1];
  const std::int64_t columns = has_other_axis ? terms : d.rng.between(1, 12);
  const Wire w =
      d.weights(transposed ? Shape{columns, terms} : Shape{terms, columns}, transposed != has_other_axis ? 0 : 1);
  std::vector<std::string> inputs{x.name, w.name};
  std::vector<Attribute> attributes;
  if (transposes_x) attributes.push_back({"transA", std::int64_t{1}});
  if (transposed) attributes.push_back({"transB", std::int64_t{1}});
  if (d.rng.chance(1, 6)) attributes.push_back({"alpha", d.is_exact() ? 0.5F : 0.3F});
  const bool has_bias = d.opset() < 11 || d.rng.chance(1, 2);
  if (has_bias) inputs.push_back(d.bias(columns, x, w));
  if (has_bias && d.rng.chance(1, 8)) attributes.push_back({"beta", d.is_exact() ? 2.0F : 0.7F});
  return d.wire(d.build.node("Gemm", inputs, attributes));
}

std::optional<Wire> matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 12);
  const Wire w =
      d.rng.chance(1, 4) ? d.operand({x.shape.back(), columns}, true) : d.weights({x.shape.back(), columns}, 1);
  std::string y = d.build.node("MatMul", {x.name, w.name});
  if (d.rng.chance(1, 4)) y = d.build.node("Add", {y, d.bias(columns, x, w)});
  return d.wire(std::move(y));
}

// Weights that are transposed behind their DQ.
std::optional<Wire> turned_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2) return std::nullopt;
  const Wire w = d.weights({x.shape.back(), x.shape.back()}, d.rng.between(0, 1));
  std::vector<Attribute> attributes;
  if (d.rng.chance(7, 8)) attributes.push_back({"perm", Shape{1, 0}});
  const std::string turned = d.build.node("Transpose", {w.name}, attributes);
  return d.wire(d.build.node("MatMul", {x.name, turned}));
}

// Multiplies in float16 by quantized weights, whose scales are of that type.
std::optional<Wire> half_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2 || d.opset() < 19) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 8);
  const auto half = static_cast<std::int64_t>(ElementType::float16);
  const std::string narrow = d.build.node("Cast", {x.name}, {{"to", half}});
  const bool is_per_column = d.rng.chance(1, 2);
  std::vector<std::int64_t> scales(is_per_column ? static_cast<std::size_t>(columns) : 1);
  for (std::int64_t& scale : scales) scale = half_bits(std::ldexp(1.0F, static_cast<int>(d.rng.between(-9, 0))));
  const Shape per = is_per_column ? Shape{columns} : Shape{};
  const std::string w = d.build.initializer(d.bytes({x.shape.back(), columns}));
  const std::string scale = d.build.initializer(make::integers(ElementType::float16, per, scales));
  const std::string real = d.build.node("DequantizeLinear", {w, scale});
  const std::string y = d.build.node("MatMul", {narrow, real});
  return d.wire(d.build.node("Cast", {y}, {{"to", std::int64_t{1}}}));
}

// Two products with one bias.
std::optional<Wire> twins(GraphDraft& d, const Wire& x) {
  if (x.shape.size() != 2) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 12);
  const Wire first = d.weights({x.shape[1], columns}, 1);
  const std::string bias = d.bias(columns, x, first);
  const Wire second = d.weights({x.shape[1], columns}, 1);
  return d.wire(d.build.node(
      "Add", {d.build.node("Gemm", {x.name, first.name, bias}), d.build.node("Gemm", {x.name, second.name, bias})}));
}

}  // namespace

std::optional<Wire> packed_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2) return std::nullopt;
  const std::int64_t depth = x.shape.back();
  const std::int64_t columns = d.rng.between(1, 8);
  const std::int64_t bits = d.rng.chance(1, 3) ? 8 : 4;
  const std::int64_t block = d.rng.chance(1, 2) ? 16 : 32;
  const std::int64_t blocks = (depth + block - 1) / block;
  std::vector<float> scales(static_cast<std::size_t>(columns * blocks));
  for (float& scale : scales) scale = d.draw_scale();
  std::vector<std::string> inputs{x.name, d.build.initializer(d.data(uint8, {columns, blocks, block * bits / 8})),
                                  d.build.initializer(make::float32({columns * blocks}, scales))};
  if (d.rng.chance(1, 2)) inputs.push_back(d.build.initializer(d.data(uint8, {columns * ((blocks * bits + 7) / 8)})));
  std::vector<Attribute> attributes{{"K", depth}, {"N", columns}, {"bits", bits}, {"block_size", block}};
  // Higher levels permit narrower activations: their sets are wide.
  if (d.rng.chance(1, 3)) attributes.push_back({"accuracy_level", d.rng.between(0, 1)});
  return d.wire(d.build.node("MatMulNBits", inputs, std::move(attributes), "com.microsoft"));
}

std::optional<Wire> blocked_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2 || d.opset() < 21) return std::nullopt;
  static constexpr ElementType kTypes[] = {int4, uint4, int8, uint8};
  const std::int64_t depth = x.shape.back();
  const std::int64_t columns = d.rng.between(1, 8);
  const std::int64_t axis = d.rng.chance(1, 3) ? 1 : 0;
  const std::int64_t block = d.rng.between(2, 16);
  Shape shape{depth, columns};
  Shape parameters = shape;
  parameters[static_cast<std::size_t>(axis)] = (shape[static_cast<std::size_t>(axis)] + block - 1) / block;
  const ElementType type = d.rng.pick(kTypes);
  std::vector<float> scales(static_cast<std::size_t>(elements_of(parameters)));
  for (float& scale : scales) scale = d.draw_scale();
  std::vector<std::string> inputs{d.build.initializer(d.data(type, shape)),
                                  d.build.initializer(make::float32(parameters, scales))};
  if (d.rng.chance(1, 2)) inputs.push_back(d.build.initializer(d.data(type, parameters)));
  const std::string w = d.build.node("DequantizeLinear", inputs, {{"axis", axis}, {"block_size", block}});
  return d.wire(d.build.node("MatMul", {x.name, w}));
}

namespace {

// Products of rows with rows, by an equation.
std::optional<Wire> einsum(GraphDraft& d, const Wire& x) {
  static constexpr const char* kEquations[] = {"id,jd->ij", "bid,bjd->bij", "bhid,bhjd->bhij"};
  if (x.shape.size() < 2 || x.shape.size() > 4 || d.opset() < 12) return std::nullopt;
  Shape shape = x.shape;
  shape[shape.size() - 2] = d.rng.between(1, 6);
  const Wire other = d.operand(shape, d.rng.chance(1, 2));
  const std::string equation = kEquations[x.shape.size() - 2];
  return d.wire(d.build.node("Einsum", {x.name, other.name}, {{"equation", equation}}));
}

// Truth values or numbers, by which every query attends the first key.
std::string attention_mask(GraphDraft& d, std::int64_t queries, std::int64_t keys) {
  const Shape shape{queries, keys};
  if (d.rng.chance(1, 2)) {
    std::vector<std::int64_t> truths;
    for (std::int64_t i = 0; i < queries * keys; ++i) truths.push_back(i % keys == 0 || d.rng.chance(2, 3) ? 1 : 0);
    return d.build.initializer(make::integers(boolean, shape, truths));
  }
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < queries * keys; ++i) {
    const bool hides = i % keys != 0 && d.rng.chance(1, 3);
    numbers.push_back(hides ? -10000.0F : static_cast<float>(d.rng.between(-8, 8)) / 8);
  }
  return d.build.initializer(make::float32(shape, numbers));
}

// x holds the queries; its heads have an axis of their own, or are parts of the last axis.
std::optional<Wire> attention(GraphDraft& d, const Wire& x) {
  const std::size_t rank = x.shape.size();
  if (d.opset() < 23 || (rank != 3 && rank != 4)) return std::nullopt;
  const std::int64_t heads = rank == 4 ? x.shape[1] : x.shape[2] % 2 == 0 ? 2 : 1;
  const std::int64_t shared = d.rng.chance(1, 2) ? heads : 1;
  const std::int64_t size = rank == 4 ? x.shape[3] : x.shape[2] / heads;
  const std::int64_t keys = d.rng.between(1, 6);
  const Shape shape = rank == 4 ? Shape{x.shape[0], shared, keys, size} : Shape{x.shape[0], keys, shared * size};
  const Wire k = d.operand(shape, d.rng.chance(1, 2));
  const Wire v = d.operand(shape, d.rng.chance(1, 2));
  // Scores spread over a few units, so that several keys have weight.
  const double scores = largest_of(d.see(x.name, reference::Tier::exact)) *
                        largest_of(d.see(k.name, reference::Tier::exact)) * static_cast<double>(size);
  if (!std::isfinite(scores) || scores == 0) return std::nullopt;
  std::vector<Attribute> attributes{{"scale", std::exp2(static_cast<float>(std::round(3 - std::log2(scores))))}};
  if (rank == 3) {
    attributes.push_back({"q_num_heads", heads});
    attributes.push_back({"kv_num_heads", shared});
  }
  if (d.rng.chance(1, 3)) attributes.push_back({"is_causal", std::int64_t{1}});
  if (d.rng.chance(1, 3)) attributes.push_back({"softcap", 2.0F});
  std::vector<std::string> inputs{x.name, k.name, v.name};
  if (d.rng.chance(1, 2)) inputs.push_back(attention_mask(d, x.shape[rank - 2], keys));
  return d.wire(d.build.node("Attention", inputs, attributes));
}

/// Tells how RotaryEmbedding splits x: the heads are an axis, or parts of the last one.
struct RotaryHeads {
  std::int64_t heads;
  std::int64_t half;  ///< pairs of a head that are turned
  std::int64_t positions;
};

std::optional<RotaryHeads> rotary_heads(const Wire& x) {
  const std::size_t rank = x.shape.size();
  if (rank != 3 && rank != 4) return std::nullopt;
  const std::int64_t heads = rank == 4 ? x.shape[1] : x.shape[2] % 2 == 0 ? x.shape[2] / 2 : 1;
  const std::int64_t size = rank == 4 ? x.shape[3] : x.shape[2] / heads;
  if (size < 2) return std::nullopt;
  return RotaryHeads{heads, size / 2, x.shape[rank - 2]};
}

// The node, whose caches of cosines and sines have this shape and come behind `inputs`.
std::optional<Wire> rotated(GraphDraft& d, std::vector<std::string> inputs, const RotaryHeads& by, const Shape& cache,
                            const std::string& domain) {
  for (int i = 0; i < 2; ++i) inputs.push_back(d.build.initializer(d.multiples(cache, -16, 16, -4)));
  std::vector<Attribute> attributes{{"num_heads", by.heads}, {"rotary_embedding_dim", 2 * by.half}};
  if (d.rng.chance(1, 2)) attributes.push_back({"interleaved", std::int64_t{1}});
  return d.wire(d.build.node("RotaryEmbedding", std::move(inputs), std::move(attributes), domain));
}

std::optional<Wire> rotation(GraphDraft& d, const Wire& x) {
  const auto by = rotary_heads(x);
  if (d.opset() < 23 || !by) return std::nullopt;
  return rotated(d, {x.name}, *by, {x.shape[0], by->positions, by->half}, "");
}

// Caches of com.microsoft have a row for each position that an element may stand at.
std::optional<Wire> microsoft_rotation(GraphDraft& d, const Wire& x) {
  const auto by = rotary_heads(x);
  if (!by) return std::nullopt;
  const std::int64_t rows = by->positions + 3;
  const bool has_first = d.rng.chance(1, 2);
  const Shape shape = has_first ? Shape{1} : Shape{x.shape[0], by->positions};
  std::vector<std::int64_t> at(static_cast<std::size_t>(elements_of(shape)));
  for (std::int64_t& position : at) position = d.rng.between(0, has_first ? 3 : rows - 1);
  const std::string positions = d.build.initializer(make::integers(int64, shape, at));
  return rotated(d, {x.name, positions}, *by, {rows, by->half}, "com.microsoft");
}

// Recurrent layers of floats with dequantized weights; x is the sequence.
std::optional<Wire> recurrent(GraphDraft& d, const Wire& x) {
  if (x.shape.size() != 3 || d.opset() < 14 || d.is_exact()) return std::nullopt;
  const bool is_gru = d.rng.chance(1, 2);
  const std::int64_t hidden = d.rng.between(1, 4);
  const std::int64_t gates = (is_gru ? 3 : 4) * hidden;
  const auto weights = [&](std::int64_t from) {
    const double largest = largest_of(d.see(x.name, reference::Tier::exact)) * static_cast<double>(from) * 128;
    const int fitting = largest > 0 ? -static_cast<int>(std::ceil(std::log2(largest))) + 1 : -7;
    const Wire q = d.codes(d.data(int8, {1, gates, from}), false);
    return d.dequantize(q, std::ldexp(1.0F, std::max(fitting, -20)), 0).name;
  };
  std::vector<std::string> inputs{x.name};
  inputs.push_back(weights(x.shape[2]));
  inputs.push_back(weights(hidden));
  if (d.rng.chance(1, 2)) inputs.push_back(d.build.initializer(d.multiples({1, 2 * gates}, -32, 32, -5)));
  std::vector<Attribute> attributes{{"hidden_size", hidden}};
  if (d.rng.chance(1, 3)) attributes.push_back({"direction", std::string("reverse")});
  if (is_gru && d.rng.chance(1, 2)) attributes.push_back({"linear_before_reset", std::int64_t{1}});
  return d.wire(d.build.node(is_gru ? "GRU" : "LSTM", inputs, attributes));
}

constexpr WeightedStep kProductSteps[] = {{conv, 6},
                                          {conv_transpose, 1},
                                          {gemm, 4},
                                          {matmul, 3},
                                          {turned_matmul, 1},
                                          {half_matmul, 1},
                                          {twins, 1},
                                          {packed_matmul, 1},
                                          {blocked_matmul, 1},
                                          {einsum, 1},
                                          {attention, 2},
                                          {rotation, 1},
                                          {microsoft_rotation, 1},
                                          {recurrent, 1}};

}  // namespace

std::span<const WeightedStep> product_steps() {
  return kProductSteps;
}

}  // namespace qconform::drawn_graphs
