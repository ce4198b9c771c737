// Random graphs that no steps make: one node that is no operator by itself, and units of tensors without axes or
// without elements.
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
  const Tensor a = d.bytes(shape);
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
  const auto floats = [&](Shape shape, int exponent) { return d.multiples(std::move(shape), -128, 127, exponent); };
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
  inputs.push_back(has_bias ? d.build.initializer(d.multiples({of.experts, of.rows}, -64, 64, -6)) : "");
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
  std::vector<std::string> inputs{d.build.input(d.multiples({tokens, hidden}, -64, 64, -5)),
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

// Adds a node that takes a tensor of any shape.
std::string shapeless(GraphDraft& d, const std::string& x, const Shape& shape) {
  static constexpr const char* kUnary[] = {"Relu", "Neg", "Abs", "Identity", "Sigmoid"};
  static constexpr const char* kBinary[] = {"Add", "Sub", "Mul", "Max"};
  if (d.rng.chance(1, 2)) return d.build.node(d.rng.pick(kUnary), {x});
  const Wire q{d.build.initializer(d.data(int8, d.rng.chance(1, 2) ? Shape{} : shape)), int8, {}};
  const float scale = d.draw_scale();
  const Wire other = d.dequantize(q, scale, d.zero_point(int8));
  return d.build.node(d.rng.pick(kBinary), {x, other.name});
}

// A unit of tensors without axes, or without elements.
Case bare_unit(GraphDraft& d) {
  static const Shape kShapes[] = {{}, {}, {0}, {1, 0}, {2, 0, 3}};
  const Shape shape = d.rng.pick(kShapes);
  const ElementType type = d.rng.chance(1, 2) ? uint8 : int8;
  const Wire x{d.build.input(d.data(type, shape)), type, shape};
  const float scale = d.draw_scale();
  std::string y = d.dequantize(x, scale, d.zero_point(type)).name;
  const std::int64_t nodes = d.rng.between(1, 3);
  for (std::int64_t i = 0; i < nodes; ++i) y = shapeless(d, y, shape);
  const auto q = d.quantize({y, float32, shape}, false);
  return d.build.build({q ? q->name : y});
}

}  // namespace

Case draw_alone(GraphDraft& d) {
  using Alone = Case (*)(GraphDraft & d);
  static constexpr Alone kAlone[] = {dynamic_alone, product_alone, gathered_alone, gathered_alone,
                                     lstm_alone,    experts_alone, bare_unit};
  const Alone draw = d.rng.pick(kAlone);
  return draw == dynamic_alone && d.opset() < 11 ? product_alone(d) : draw(d);
}

}  // namespace qconform::drawn_graphs
