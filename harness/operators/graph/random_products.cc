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
  const std::string turned = d.build.node("Transpose", {w.name}, {{"perm", Shape{1, 0}}});
  return d.wire(d.build.node("MatMul", {x.name, turned}));
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

Tensor bytes_of(GraphDraft& d, Shape shape) {
  return d.data(d.rng.chance(1, 2) ? uint8 : int8, std::move(shape));
}

// A zero point for weights of that type, or one for each column; "" where there is none.
std::string column_zero_point(GraphDraft& d, ElementType type, std::int64_t columns) {
  if (d.rng.chance(1, 3)) return "";
  if (d.rng.chance(1, 2)) return d.build.initializer(make::integer(type, d.zero_point(type)));
  return d.build.initializer(d.data(type, {columns}));
}

// x is uint8, and `zero_point` its own.
std::string matmul_integer(GraphDraft& d, const std::string& x, const std::string& zero_point, std::int64_t depth,
                           std::int64_t columns) {
  const Tensor w = bytes_of(d, {depth, columns});
  const ElementType type = w.type;
  const std::string b = d.build.initializer(w);
  std::vector<std::string> inputs{x, b, zero_point, column_zero_point(d, type, columns)};
  while (inputs.back().empty()) inputs.pop_back();
  return d.build.node("MatMulInteger", inputs);
}

// Scales of weights, one or one for each column, of the ranks that quantizers and exporters give them.
std::string weight_scales(GraphDraft& d, std::int64_t columns) {
  const Shape shapes[] = {{}, {1}, {1, 1}, {columns}, {1, columns}, {1, 1, columns}};
  static constexpr std::size_t kUsual[] = {0, 0, 0, 1, 1, 3, 3, 3, 2, 4, 5};
  const Shape& shape = shapes[d.rng.pick(kUsual)];
  std::vector<float> scales(static_cast<std::size_t>(elements_of(shape)));
  for (float& scale : scales) scale = d.draw_scale();
  return d.build.initializer(make::float32(shape, scales));
}

std::string column_bias(GraphDraft& d, std::int64_t columns, bool may_have_axes = true) {
  std::vector<float> bias(static_cast<std::size_t>(columns));
  for (float& value : bias) value = d.draw_scale() * static_cast<float>(d.rng.between(-100, 100));
  static constexpr std::size_t kRanks[] = {1, 1, 1, 2, 3};
  Shape shape(may_have_axes ? d.rng.pick(kRanks) : 1, 1);
  shape.back() = columns;
  return d.build.initializer(make::float32(shape, bias));
}

}  // namespace

std::optional<Wire> dynamic_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2 || d.opset() < 11) return std::nullopt;
  const std::vector<std::string> q = d.build.nodes("DynamicQuantizeLinear", {x.name}, 3);
  const std::int64_t columns = d.rng.between(1, 12);
  const std::string sum = matmul_integer(d, q[0], q[2], x.shape.back(), columns);
  const std::string real = d.build.node("Cast", {sum}, {{"to", std::int64_t{1}}});
  const std::string scale = d.build.node("Mul", {q[1], weight_scales(d, columns)});
  const std::string y = d.build.node("Mul", {real, scale});
  if (d.rng.chance(1, 2)) return d.wire(y);
  const std::string bias = column_bias(d, columns);
  return d.wire(d.rng.chance(1, 4) ? d.build.node("Add", {bias, y}) : d.build.node("Add", {y, bias}));
}

// A scale for all columns or for each, and a bias.
std::optional<Wire> fused_dynamic_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2 || d.opset() < 11) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 12);
  const Tensor w = bytes_of(d, {x.shape.back(), columns});
  const ElementType type = w.type;
  const std::string b = d.build.initializer(w);
  std::vector<float> scales(d.rng.chance(1, 2) ? static_cast<std::size_t>(columns) : 1);
  for (float& scale : scales) scale = d.draw_scale();
  const Shape per = scales.size() == 1 ? Shape{} : Shape{columns};
  std::vector<std::string> inputs{x.name, b, d.build.initializer(make::float32(per, scales)),
                                  column_zero_point(d, type, columns)};
  if (d.rng.chance(1, 2)) inputs.push_back(column_bias(d, columns, false));
  while (inputs.back().empty()) inputs.pop_back();
  return d.wire(d.build.node("DynamicQuantizeMatMul", inputs, {}, "com.microsoft"));
}

namespace {

std::optional<Wire> qlinear_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2) return std::nullopt;
  const auto q = d.quantize(x, true);
  if (!q || (q->type != uint8 && q->type != int8)) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 12);
  const std::int64_t depth = q->shape.back();
  // Every mix of types is right; runtimes have few of them.
  const bool is_usual = d.rng.chance(7, 8);
  const Tensor w = is_usual && q->type == int8 ? d.data(int8, {depth, columns}) : bytes_of(d, {depth, columns});
  const float sw = d.draw_scale();
  std::vector<float> scales(d.rng.chance(1, 4) ? static_cast<std::size_t>(columns) : 1, sw);
  for (float& scale : scales) scale = std::ldexp(scale, -static_cast<int>(d.rng.below(3)));
  const Shape per = scales.size() == 1 ? Shape{} : Shape{columns};
  const float fitting = static_cast<float>(q->scale) * sw * 48 * std::sqrt(static_cast<float>(depth));
  const float sy = d.is_exact() ? std::exp2(std::ceil(std::log2(fitting))) : fitting;
  const ElementType type = is_usual ? q->type : q->type == int8 ? uint8 : int8;
  const std::int64_t zp = d.zero_point(type);
  Wire y{d.build.node("QLinearMatMul",
                      {q->name, d.build.initializer(make::float32(static_cast<float>(q->scale))),
                       d.build.initializer(make::integer(q->type, d.last_zero_point())), d.build.initializer(w),
                       d.build.initializer(make::float32(per, scales)), d.build.initializer(d.data(w.type, per)),
                       d.build.initializer(make::float32(sy)), d.build.initializer(make::integer(type, zp))}),
         type, q->shape};
  y.shape.back() = columns;
  return d.wire(d.dequantize(y, sy, zp).name);
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

std::optional<Wire> rotation(GraphDraft& d, const Wire& x) {
  const std::size_t rank = x.shape.size();
  if (d.opset() < 23 || (rank != 3 && rank != 4)) return std::nullopt;
  const std::int64_t heads = rank == 4 ? x.shape[1] : x.shape[2] % 2 == 0 ? x.shape[2] / 2 : 1;
  const std::int64_t size = rank == 4 ? x.shape[3] : x.shape[2] / heads;
  if (size < 2) return std::nullopt;
  const std::int64_t half = size / 2;
  const auto cache = [&] {
    std::vector<float> values(static_cast<std::size_t>(x.shape[0] * x.shape[rank - 2] * half));
    for (float& value : values) value = static_cast<float>(d.rng.between(-16, 16)) / 16;
    return d.build.initializer(make::float32({x.shape[0], x.shape[rank - 2], half}, values));
  };
  const std::string cos = cache();
  const std::string sin = cache();
  std::vector<Attribute> attributes{{"num_heads", heads}, {"rotary_embedding_dim", 2 * half}};
  if (d.rng.chance(1, 2)) attributes.push_back({"interleaved", std::int64_t{1}});
  return d.wire(d.build.node("RotaryEmbedding", {x.name, cos, sin}, attributes));
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
    const Wire q{d.build.initializer(d.data(int8, {1, gates, from})), int8, {1, gates, from}};
    return d.dequantize(q, std::ldexp(1.0F, std::max(fitting, -20)), 0).name;
  };
  std::vector<std::string> inputs{x.name};
  inputs.push_back(weights(x.shape[2]));
  inputs.push_back(weights(hidden));
  if (d.rng.chance(1, 2)) {
    std::vector<float> bias(static_cast<std::size_t>(2 * gates));
    for (float& value : bias) value = static_cast<float>(d.rng.between(-32, 32)) / 32;
    inputs.push_back(d.build.initializer(make::float32({1, 2 * gates}, bias)));
  }
  std::vector<Attribute> attributes{{"hidden_size", hidden}};
  if (d.rng.chance(1, 3)) attributes.push_back({"direction", std::string("reverse")});
  if (is_gru && d.rng.chance(1, 2)) attributes.push_back({"linear_before_reset", std::int64_t{1}});
  return d.wire(d.build.node(is_gru ? "GRU" : "LSTM", inputs, attributes));
}

constexpr WeightedStep kProductSteps[] = {
    {conv, 6},           {conv_transpose, 1}, {gemm, 4},           {matmul, 3},
    {turned_matmul, 1},  {twins, 1},          {dynamic_matmul, 1}, {fused_dynamic_matmul, 1},
    {qlinear_matmul, 1}, {packed_matmul, 1},  {blocked_matmul, 1}, {einsum, 1},
    {attention, 2},      {rotation, 1},       {recurrent, 1}};

// Graphs of one node that is no operator by itself.

using Alone = Case (*)(GraphDraft& d);

Case dynamic_alone(GraphDraft& d) {
  const Shape shape{d.rng.between(1, 6), d.rng.between(1, 40)};
  std::vector<float> values(static_cast<std::size_t>(elements_of(shape)));
  for (float& value : values) {
    value = d.draw_scale();
    value *= static_cast<float>(d.rng.between(-300, 300));
  }
  return d.build.build(d.build.nodes("DynamicQuantizeLinear", {d.build.input(make::float32(shape, values))}, 3));
}

Case product_alone(GraphDraft& d) {
  const Shape shape{d.rng.between(1, 6), d.rng.between(1, 40)};
  const Tensor a = bytes_of(d, shape);
  const ElementType type = a.type;
  std::string zero_point;
  if (d.rng.chance(1, 2)) zero_point = d.build.initializer(make::integer(type, d.zero_point(type)));
  const std::int64_t columns = d.rng.between(1, 12);
  return d.build.build({matmul_integer(d, d.build.input(a), zero_point, shape[1], columns)});
}

// Rows of blocks, the last of which may be cut.
Case gathered_alone(GraphDraft& d) {
  const bool is_packed = d.opset() < 21 || d.rng.chance(1, 2);
  const std::int64_t bits = is_packed && d.rng.chance(1, 2) ? 8 : 4;
  const std::int64_t block = d.rng.chance(2, 3) ? 16 : 32;
  const std::int64_t rows = d.rng.between(1, 6);
  const std::int64_t columns = 2 * d.rng.between(1, 40);
  const std::int64_t blocks = (columns + block - 1) / block;
  const std::int64_t held = is_packed ? 8 / bits : 1;  // elements of a byte
  const ElementType type = is_packed ? uint8 : d.rng.chance(1, 2) ? int4 : uint4;
  std::vector<float> scales(static_cast<std::size_t>(rows * blocks));
  for (float& scale : scales) scale = d.draw_scale();
  const Shape chosen = d.rng.chance(1, 2) ? Shape{d.rng.between(1, 5)} : Shape{1, 3};
  std::vector<std::int64_t> indices(static_cast<std::size_t>(elements_of(chosen)));
  for (std::int64_t& index : indices) index = d.rng.between(0, rows - 1);
  std::vector<std::string> inputs{d.build.initializer(d.data(type, {rows, columns / held})),
                                  d.build.input(make::integers(int64, chosen, indices)),
                                  d.build.initializer(make::float32({rows, blocks}, scales))};
  if (d.rng.chance(1, 2)) inputs.push_back(d.build.initializer(d.data(type, {rows, (blocks + held - 1) / held})));
  const std::vector<Attribute> attributes{{"bits", bits}, {"block_size", block}, {"quantize_axis", std::int64_t{1}}};
  return d.build.build({d.build.node("GatherBlockQuantized", inputs, attributes, "com.microsoft")});
}

// A layer of one direction, whose gates are neither open nor shut.
Case lstm_alone(GraphDraft& d) {
  const std::int64_t steps = d.rng.between(1, 4);
  const std::int64_t batch = d.rng.between(1, 3);
  const std::int64_t size = d.rng.between(1, 8);
  const std::int64_t hidden = d.rng.between(1, 6);
  const auto floats = [&](Shape shape, int exponent) {
    std::vector<float> values(static_cast<std::size_t>(elements_of(shape)));
    for (float& value : values) value = std::ldexp(static_cast<float>(d.rng.between(-128, 127)), exponent);
    return make::float32(std::move(shape), values);
  };
  const ElementType type = d.rng.chance(1, 2) ? uint8 : int8;
  const auto weights = [&](std::int64_t rows) { return d.build.initializer(d.data(type, {1, rows, 4 * hidden})); };
  const auto scale = [&] { return d.build.initializer(make::float32({1}, {std::ldexp(d.draw_scale(), -6)})); };
  const auto zero_point = [&] { return d.build.initializer(make::integers(type, {1}, {type == uint8 ? 128 : 0})); };
  const std::string x = d.build.input(floats({steps, batch, size}, -5));
  const std::string w = weights(size);
  const std::string r = weights(hidden);
  std::vector<std::string> inputs{x, w, r, "", "", "", "", ""};
  if (d.rng.chance(1, 2)) inputs[3] = d.build.initializer(floats({1, 8 * hidden}, -7));
  if (d.rng.chance(1, 3)) {
    inputs[5] = d.build.initializer(floats({1, batch, hidden}, -7));
    inputs[6] = d.build.initializer(floats({1, batch, hidden}, -7));
  }
  for (int i = 0; i < 2; ++i) {
    inputs.push_back(scale());
    inputs.push_back(zero_point());
  }
  std::vector<Attribute> attributes{{"hidden_size", hidden}};
  if (d.rng.chance(1, 3)) attributes.push_back({"direction", std::string("reverse")});
  return d.build.build(d.build.nodes("DynamicQuantizeLSTM", inputs, 3, attributes, "com.microsoft"));
}

// The float32 numbers of a tensor, multiples of a power of two.
Tensor drawn_multiples(GraphDraft& d, Shape shape, int exponent) {
  std::vector<float> values(static_cast<std::size_t>(elements_of(shape)));
  for (float& value : values) value = std::ldexp(static_cast<float>(d.rng.between(-64, 64)), exponent);
  return make::float32(std::move(shape), values);
}

// Logits of tokens, each token's well apart from one another.
Tensor expert_logits(GraphDraft& d, std::int64_t tokens, std::int64_t experts) {
  std::vector<float> logits;
  for (std::int64_t token = 0; token < tokens; ++token) {
    std::vector<float> own;
    for (std::int64_t i = 0; i < experts; ++i) own.push_back(static_cast<float>(i) * 0.75F - 1);
    d.rng.shuffle(own);
    logits.insert(logits.end(), own.begin(), own.end());
  }
  return make::float32({tokens, experts}, logits);
}

/// The matrices of experts, quantized in blocks of their rows, or by rows where `block` is 0.
struct ExpertShape {
  std::int64_t experts;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t bits;
  std::int64_t block;
};

// Adds weights, scales and a bias, which may be omitted, to the inputs of a node.
void add_experts(GraphDraft& d, const ExpertShape& of, std::vector<std::string>& inputs) {
  Shape parameters{of.experts, of.rows};
  if (of.block != 0) parameters.push_back(of.columns / of.block);
  std::vector<float> scales(static_cast<std::size_t>(elements_of(parameters)));
  for (float& scale : scales) scale = std::ldexp(d.draw_scale(), -static_cast<int>(of.bits));
  inputs.push_back(d.build.initializer(d.data(uint8, {of.experts, of.rows, of.columns * of.bits / 8})));
  inputs.push_back(d.build.initializer(make::float32(std::move(parameters), scales)));
  const bool has_bias = d.rng.chance(1, 2);
  inputs.push_back(has_bias ? d.build.initializer(drawn_multiples(d, {of.experts, of.rows}, -6)) : "");
}

Shape packed_zero_points(const ExpertShape& of) {
  if (of.block == 0) return {of.experts, (of.rows * of.bits + 7) / 8};
  return {of.experts, of.rows, of.columns / of.block * of.bits / 8};
}

// Zero points of a block that is alone in its row have no layout.
bool has_layout_of_zero_points(const ExpertShape& of) {
  return of.block == 0 || of.columns / of.block * of.bits % 8 == 0;
}

// A few tokens and experts. Blocks of 8 bits permit narrower activations: their sets are wide.
Case experts_alone(GraphDraft& d) {
  static constexpr const char* kActivations[] = {"swiglu", "swiglu", "silu", "relu", "gelu", "identity"};
  const std::string activation = d.rng.pick(kActivations);
  const std::int64_t bits = d.rng.chance(1, 3) ? 8 : 4;
  const std::int64_t block = bits == 4 && d.rng.chance(1, 2) ? 16 : 0;
  const auto size = [&] { return block == 0 ? 2 * d.rng.between(1, 12) : block * d.rng.between(1, 2); };
  const std::int64_t hidden = size();
  const std::int64_t inner = size();
  const std::int64_t experts = d.rng.between(2, 4);
  const std::int64_t tokens = d.rng.between(1, 4);
  const ExpertShape first{experts, activation == "swiglu" ? 2 * inner : inner, hidden, bits, block};
  const ExpertShape last{experts, hidden, inner, bits, block};
  std::vector<std::string> inputs{d.build.input(drawn_multiples(d, {tokens, hidden}, -5)),
                                  d.build.input(expert_logits(d, tokens, experts))};
  add_experts(d, first, inputs);
  add_experts(d, last, inputs);
  if (has_layout_of_zero_points(first) && has_layout_of_zero_points(last) && d.rng.chance(1, 3)) {
    inputs.resize(11);
    for (const ExpertShape& of : {first, last}) {
      inputs.push_back(d.build.initializer(d.data(uint8, packed_zero_points(of))));
    }
  }
  while (inputs.back().empty()) inputs.pop_back();
  std::vector<Attribute> attributes{{"activation_type", activation},
                                    {"expert_weight_bits", bits},
                                    {"k", d.rng.between(1, 2)},
                                    {"normalize_routing_weights", std::int64_t{1}}};
  if (block != 0) attributes.push_back({"block_size", block});
  if (activation == "swiglu") attributes.push_back({"swiglu_fusion", std::int64_t{1}});
  if (activation == "swiglu" && d.rng.chance(1, 2)) {
    attributes.push_back({"activation_alpha", 1.702F});
    attributes.push_back({"activation_beta", 1.0F});
    attributes.push_back({"swiglu_limit", 7.0F});
  }
  return d.build.build({d.build.node("QMoE", inputs, attributes, "com.microsoft")});
}

}  // namespace

Case draw_alone(GraphDraft& d) {
  static constexpr Alone kAlone[] = {dynamic_alone,  product_alone, gathered_alone,
                                     gathered_alone, lstm_alone,    experts_alone};
  const Alone draw = d.rng.pick(kAlone);
  return draw == dynamic_alone && d.opset() < 11 ? product_alone(d) : draw(d);
}

std::span<const WeightedStep> product_steps() {
  return kProductSteps;
}

}  // namespace qconform::drawn_graphs
