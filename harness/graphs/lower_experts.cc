// QMoE of com.microsoft: every token goes through the experts that its router chooses, and their answers are added up,
// each by its gate.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "harness/base/text.h"
#include "harness/graphs/node_lowering.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;
using List = std::vector<std::int64_t>;
using OperandList = std::vector<std::int32_t>;

constexpr std::size_t kRouterProbs = 1;
constexpr std::size_t kRouterWeights = 14;

/// One of the matrices that every expert has: the inputs that hold them all, and the attribute of its own.
struct Projection {
  std::string_view name;
  std::string_view bits_attribute;
  std::size_t weights;  ///< scales and a bias come behind
  std::size_t zero_points;

  [[nodiscard]] std::size_t scales() const { return weights + 1; }
  [[nodiscard]] std::size_t bias() const { return weights + 2; }
  [[nodiscard]] std::string field(std::string_view what) const { return fmt::format("{}_{}", name, what); }
};
constexpr Projection kFc1{"fc1", "fc1_expert_weight_bits", 2, 11};
constexpr Projection kFc2{"fc2", "fc2_expert_weight_bits", 5, 12};
constexpr Projection kFc3{"fc3", "fc3_expert_weight_bits", 8, 13};

/// Its matrices, one for each expert, [rows, columns]: quantized by rows, or by blocks of their rows.
struct ExpertMatrices {
  Projection inputs;
  std::int64_t experts;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t bits;
  std::int64_t block;  ///< 0: one scale for a row

  [[nodiscard]] std::int64_t blocks() const { return block == 0 ? 1 : columns / block; }
  [[nodiscard]] std::int64_t parameters() const { return rows * blocks(); }  // of one expert
  [[nodiscard]] std::int64_t bytes(std::int64_t numbers) const { return (numbers * bits + 7) / 8; }
};

/// A layer of experts whose inputs have been checked.
struct ExpertLayer {
  std::int64_t tokens;
  std::int64_t experts;
  std::int64_t chosen;  ///< of each token
  std::string activation;
  std::int64_t fusion;  ///< how gate and linear part of swiglu lie: 0 in two matrices, 1 by turns, 2 in halves
  ExpertMatrices first;
  std::optional<ExpertMatrices> linear;  ///< the second matrix of a swiglu that is not fused
  ExpertMatrices last;
};

bool refuse_value(const NodeLowering& node, std::string_view attribute, std::string_view value) {
  return node.limit(attribute, fmt::format("{} is not judged", value));
}

// Refuses values that the text permits and this lowering does not know.
bool check_expert_attributes(const NodeLowering& node) {
  const std::string quantization = node.get_or<std::string>("quant_type", "int");
  if (quantization != "int") return refuse_value(node, "quant_type", quoted_name(quantization));
  for (const char* name : {"use_sparse_mixer", "swiglu_limit_after_activation"}) {
    const auto value = node.get_or<std::int64_t>(name, 0);
    if (value != 0) return refuse_value(node, name, std::to_string(value));
  }
  const auto* limit = node.get<float>("swiglu_limit");
  if (limit != nullptr && !(*limit >= 0)) return refuse_value(node, "swiglu_limit", fmt::format("{}", *limit));
  // The text leaves this layout to whoever computes it.
  if (node.get_or<std::int64_t>("weights_prepacked", 0) == 1) return refuse_value(node, "weights_prepacked", "1");
  constexpr std::array kOthers{"fc1_global_scale", "fc2_global_scale",    "fc1_act_scale",
                               "fc2_act_scale",    "fc1_act_block_scale", "fc2_act_block_scale"};
  for (std::size_t i = 0; i < kOthers.size(); ++i) {
    if (node.has(kRouterWeights + 1 + i)) return node.limit(kOthers[i], "is not judged");
  }
  return true;
}

bool check_activation(const NodeLowering& node, const std::string& activation, std::int64_t fusion) {
  constexpr std::array kKnown{"relu", "gelu", "silu", "swiglu", "identity"};
  if (activation == "relu2" || activation == "geglu") {
    return refuse_value(node, "activation_type", quoted_name(activation));
  }
  if (std::find(kKnown.begin(), kKnown.end(), activation) == kKnown.end()) {
    return node.violate("activation_type", "expected relu, gelu, silu, swiglu or identity, got " + activation);
  }
  if (fusion < 0 || fusion > 2) return node.violate("swiglu_fusion", fmt::format("expected 0 to 2, got {}", fusion));
  const bool needs_linear = activation == "swiglu" && fusion == 0;
  const bool has_linear = node.has(kFc3.weights);
  if (needs_linear && !has_linear)
    return node.violate("swiglu_fusion", "0 requires fc3_experts_weights, which is omitted");
  if (!needs_linear && has_linear) {
    return node.limit("fc3_experts_weights", fmt::format("beside activation_type {} and swiglu_fusion {} is not judged",
                                                         quoted_name(activation), fusion));
  }
  const bool has_rest = node.has(kFc3.scales()) || node.has(kFc3.bias()) || node.has(kFc3.zero_points);
  return has_linear || !has_rest ||
         node.violate("fc3_experts_weights", "is omitted, but its scales, bias or zero points are given");
}

bool check_expert_shape(const NodeLowering& node, std::size_t input, std::string_view name, const Shape& wanted) {
  if (!node.has(input) || node.shape(input) == wanted) return true;
  return node.violate(name,
                      fmt::format("expected shape {}, got {}", shape_text(wanted), shape_text(node.shape(input))));
}

// Returns 0 where each row has one scale.
std::optional<std::int64_t> expert_block(const NodeLowering& node) {
  const auto block = node.get_or<std::int64_t>("block_size", 0);
  if (block == 0 || (block >= 16 && (block & (block - 1)) == 0)) return block;
  node.violate("block_size", fmt::format("expected a power of two from 16 on, got {}", block));
  return std::nullopt;
}

bool check_matrices(const NodeLowering& node, const ExpertMatrices& matrices) {
  const auto& [inputs, experts, rows, columns, bits, block] = matrices;
  const std::string_view attribute =
      node.attribute(inputs.bits_attribute) != nullptr ? inputs.bits_attribute : "expert_weight_bits";
  if (bits == 3) return refuse_value(node, attribute, "3");
  if (bits != 2 && bits != 4 && bits != 8) {
    return node.violate(attribute, fmt::format("expected 2, 4 or 8, got {}", bits));
  }
  if (block != 0 && columns % block != 0) {
    return node.violate("block_size", fmt::format("expected a divisor of {} columns, got {}", columns, block));
  }
  const std::string weights = inputs.field("experts_weights");
  if (columns * bits % 8 != 0)
    return node.violate(weights,
                        fmt::format("expected columns that fill whole bytes, got {} of {} bits", columns, bits));
  if (!check_expert_shape(node, inputs.weights, weights, {experts, rows, matrices.bytes(columns)})) return false;
  if (node.type(inputs.weights) != ElementType::uint8) {
    return node.violate(weights, "expected element type uint8, got " + name_of(node.type(inputs.weights)));
  }
  if (!node.has(inputs.scales())) return node.limit(inputs.field("scales"), "an omitted one is not judged");
  if (node.type(inputs.scales()) != node.type(0)) {
    return node.limit(inputs.field("scales"), fmt::format("{} beside {} is not judged",
                                                          name_of(node.type(inputs.scales())), name_of(node.type(0))));
  }
  Shape scales{experts, rows};
  Shape zero_points{experts, matrices.bytes(rows)};
  if (block != 0) scales.push_back(matrices.blocks());
  if (block != 0) zero_points = {experts, rows, matrices.bytes(matrices.blocks())};
  if (node.has(inputs.zero_points) && node.type(inputs.zero_points) != ElementType::uint8) {
    return node.violate(inputs.field("zero_points"),
                        "expected element type uint8, got " + name_of(node.type(inputs.zero_points)));
  }
  // The text divides the blocks by the codes of a byte, and kernels take the rest otherwise than each other.
  if (node.has(inputs.zero_points) && block != 0 && matrices.blocks() * bits % 8 != 0) {
    return node.limit(inputs.field("zero_points"),
                      fmt::format("those of {} blocks of {} bits fill no bytes", matrices.blocks(), bits));
  }
  return check_expert_shape(node, inputs.scales(), inputs.field("scales"), scales) &&
         check_expert_shape(node, inputs.bias(), inputs.field("experts_bias"), {experts, rows}) &&
         check_expert_shape(node, inputs.zero_points, inputs.field("zero_points"), zero_points);
}

std::int64_t expert_bits(const NodeLowering& node, const Projection& projection) {
  return node.get_or<std::int64_t>(projection.bits_attribute, node.get_or<std::int64_t>("expert_weight_bits", 4));
}

bool check_tokens(const NodeLowering& node, const ExpertLayer& layer) {
  const bool is_empty = layer.tokens < 1 || layer.experts < 1 || layer.first.rows < 1 || layer.first.columns < 1;
  if (is_empty) return node.limit("inputs", "a layer without elements is not judged");
  if (layer.chosen < 1 || layer.chosen > layer.experts) {
    return node.violate("k", fmt::format("expected 1 to {} experts, got {}", layer.experts, layer.chosen));
  }
  const Shape router{layer.tokens, layer.experts};
  return check_expert_shape(node, kRouterProbs, "router_probs", router) &&
         check_expert_shape(node, kRouterWeights, "router_weights", router);
}

std::optional<ExpertLayer> expert_layer(const NodeLowering& node) {
  const Shape x = node.shape(0);
  const Shape weights = node.shape(kFc1.weights);
  if (x.size() != 2 && x.size() != 3) {
    return node.violate("input", "expected rank 2 or 3, got shape " + shape_text(x)), std::nullopt;
  }
  if (weights.size() != 3) {
    return node.violate("fc1_experts_weights", "expected rank 3, got shape " + shape_text(weights)), std::nullopt;
  }
  const std::string activation = node.get_or<std::string>("activation_type", "relu");
  const auto fusion = node.get_or<std::int64_t>("swiglu_fusion", 0);
  const auto block = expert_block(node);
  if (!check_activation(node, activation, fusion) || !block) return std::nullopt;
  const bool is_fused = activation == "swiglu" && fusion != 0;
  if (is_fused && weights[1] % 2 != 0) {
    return node.violate("fc1_experts_weights", fmt::format("expected an even number of rows, got {}", weights[1])),
           std::nullopt;
  }
  const std::int64_t hidden = x.back();
  const std::int64_t inner = is_fused ? weights[1] / 2 : weights[1];
  const std::int64_t experts = weights[0];
  ExpertLayer layer{.tokens = x.size() == 2 ? x[0] : saturating_product(x[0], x[1]),
                    .experts = experts,
                    .chosen = node.get_or<std::int64_t>("k", 1),
                    .activation = activation,
                    .fusion = fusion,
                    .first = {kFc1, experts, weights[1], hidden, expert_bits(node, kFc1), *block},
                    .linear = {},
                    .last = {kFc2, experts, hidden, inner, expert_bits(node, kFc2), *block}};
  if (node.has(kFc3.weights)) layer.linear = {kFc3, experts, inner, hidden, expert_bits(node, kFc3), *block};
  const bool fits = check_tokens(node, layer) && check_matrices(node, layer.first) &&
                    check_matrices(node, layer.last) && (!layer.linear || check_matrices(node, *layer.linear));
  return fits ? std::optional(std::move(layer)) : std::nullopt;
}

// The choice of experts.

// Kernels choose by the logits, or by their rounded softmax. A softmax that is computed in `bits` bits of precision is
// off by (distance from the largest logit + 8) * 2^-bits of itself at most, and the least chosen one must not
// underflow.
bool is_certain(double largest, double last_chosen, double first_left, std::size_t experts, ElementType type) {
  const double distance = largest - first_left;
  const double slack = std::ldexp(distance + 8, 2 - precision_of(type));
  const double most = type == ElementType::float16 ? 9 : 80;
  return last_chosen - first_left > slack && largest - last_chosen + std::log(static_cast<double>(experts)) < most;
}

// The experts of one token, the largest logit first; nothing, with a remark, where rounding may choose others.
std::optional<List> chosen_experts(const NodeLowering& node, const ExpertLayer& layer, const Tensor& router,
                                   std::int64_t token) {
  const auto logit = [&](std::int64_t expert) { return number_at(router, token * layer.experts + expert); };
  List order = counted(layer.experts);
  for (const std::int64_t expert : order) {
    if (!std::isfinite(logit(expert))) {
      return node.limit("router_probs", fmt::format("{} in row {} is not judged", logit(expert), token)), std::nullopt;
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return logit(a) > logit(b); });
  const auto chosen = static_cast<std::size_t>(layer.chosen);
  if (chosen < order.size()) {
    const std::int64_t last = order[chosen - 1];
    const std::int64_t next = order[chosen];
    if (!is_certain(logit(order[0]), logit(last), logit(next), order.size(), router.type)) {
      return node.limit("router_probs", fmt::format("row {} chooses between experts {} and {} by {} and {}: the choice "
                                                    "is not certain",
                                                    token, last, next, logit(last), logit(next))),
             std::nullopt;
    }
  }
  order.resize(chosen);
  return order;
}

// The experts of all tokens, token by token.
std::optional<List> routes_of(const NodeLowering& node, const ExpertLayer& layer) {
  const Tensor* router = node.stated_tensor(node.id(kRouterProbs));
  if (router == nullptr) {
    const std::string& name = node.node().inputs[kRouterProbs];
    return node.limit("router_probs", quoted_name(name) + " is computed: the experts that it chooses are not known"),
           std::nullopt;
  }
  List routes;
  for (std::int64_t token = 0; token < layer.tokens; ++token) {
    const auto chosen = chosen_experts(node, layer, *router, token);
    if (!chosen) return std::nullopt;
    routes.insert(routes.end(), chosen->begin(), chosen->end());
  }
  return routes;
}

/// The steps of a layer. After a step that is too large nothing is added any more.
class ExpertsExpansion {
 public:
  /// `routes`: the chosen experts of every token, one token behind the other. Both are referred to.
  ExpertsExpansion(const NodeLowering& node, const ExpertLayer& layer, const List& routes)
      : node_(node), layer_(layer), routes_(routes), type_(node.type(0)) {}

  [[nodiscard]] bool run() {
    node_.rounds();
    const ValueId gates = routing_weights();
    const ValueId answers = answers_of_experts();
    const std::int64_t hidden = layer_.last.rows;
    MatrixTaps taps{.m = 1, .n = hidden, .k = layer_.chosen, .b_inner = hidden};
    taps.a_begin = counted(layer_.tokens, 0, layer_.chosen);
    taps.b_begin = counted(layer_.tokens, 0, layer_.chosen * hidden);
    const Shape shape = node_.shape(0);
    return claim(shape) && node_.emit(WeightedSum{.taps = std::move(taps)}, {gates, answers}, shape);
  }

 private:
  template <typename What>
  ValueId step(What what, std::vector<ValueId> operands, const Shape& shape) {
    if (has_failed_) return 0;
    const auto value = node_.compute(std::move(what), std::move(operands), shape, type_);
    has_failed_ = !value;
    return value.value_or(0);
  }
  // To be asked before a list of that many elements is made.
  bool claim(const Shape& shape) {
    has_failed_ = has_failed_ || !node_.claim(shape);
    return !has_failed_;
  }
  ValueId constant(double value) { return node_.add_stated(type_, {}, {value}); }
  ValueId elementwise(Function function, std::vector<ValueId> operands, const Shape& shape) {
    return step(Elementwise{.function = function}, std::move(operands), shape);
  }
  // The function of each element and one number.
  ValueId with_number(Function function, ValueId value, double number, const Shape& shape) {
    if (has_failed_) return 0;
    return step(Elementwise{.function = function, .index = {{}, {0}}}, {value, constant(number)}, shape);
  }
  ValueId clipped(ValueId value, double least, double most, const Shape& shape) {
    return step(Elementwise{.function = Function::clip, .index = {}, .alpha = least, .beta = most}, {value}, shape);
  }

  [[nodiscard]] Shape per_route() const { return {layer_.tokens, layer_.chosen}; }
  // Numbers of the chosen experts from a table of all.
  ValueId picked(ValueId table) {
    if (!claim(per_route())) return 0;
    Move move;
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      move.index.push_back(static_cast<std::int64_t>(i) / layer_.chosen * layer_.experts + routes_[i]);
    }
    return step(std::move(move), {table}, per_route());
  }
  // Each number, divided by the sum of its token's.
  ValueId normalized(ValueId gates) {
    const MatrixTaps taps{.m = layer_.tokens, .n = 1, .k = layer_.chosen, .a_row = layer_.chosen};
    const ValueId sums = step(WeightedSum{.taps = taps, .has_factor = false}, {gates}, {layer_.tokens, 1});
    if (!claim(per_route())) return 0;
    List tokens;
    for (std::size_t i = 0; i < routes_.size(); ++i) tokens.push_back(static_cast<std::int64_t>(i) / layer_.chosen);
    return step(Elementwise{.function = Function::div, .index = {{}, std::move(tokens)}}, {gates, sums}, per_route());
  }

  // The gates of all tokens. The text names no formula: some kernels take the softmax of the chosen logits alone,
  // others that of all, which they normalize if they are told to.
  ValueId routing_weights() {
    const bool normalizes = node_.get_or<std::int64_t>("normalize_routing_weights", 0) != 0;
    if (node_.has(kRouterWeights)) {
      const ValueId gates = picked(node_.id(kRouterWeights));
      return normalizes ? normalized(gates) : gates;
    }
    const ValueId router = node_.id(kRouterProbs);
    const ValueId of_chosen = step(Softmax{.length = layer_.chosen}, {picked(router)}, per_route());
    const ValueId of_all = picked(step(Softmax{.length = layer_.experts}, {router}, {layer_.tokens, layer_.experts}));
    return elementwise(Function::either, {of_chosen, normalizes ? normalized(of_all) : of_all}, per_route());
  }

  // [tokens * chosen, hidden]: the answer of each route.
  ValueId answers_of_experts() {
    const std::int64_t hidden = layer_.last.rows;
    const Shape shape{layer_.tokens * layer_.chosen, hidden};
    if (!claim(shape)) return 0;
    Move move{OperandList(static_cast<std::size_t>(elements_of(shape))),
              List(static_cast<std::size_t>(elements_of(shape)))};
    std::vector<ValueId> operands;
    for (std::int64_t expert = 0; expert < layer_.experts && !has_failed_; ++expert) {
      List own;  // routes
      for (std::size_t i = 0; i < routes_.size(); ++i) {
        if (routes_[i] == expert) own.push_back(static_cast<std::int64_t>(i));
      }
      if (own.empty()) continue;
      for (std::size_t row = 0; row < own.size(); ++row) {
        for (std::int64_t i = 0; i < hidden; ++i) {
          const auto at = static_cast<std::size_t>(own[row] * hidden + i);
          move.operand[at] = static_cast<std::int32_t>(operands.size());
          move.index[at] = static_cast<std::int64_t>(row) * hidden + i;
        }
      }
      operands.push_back(answer_of(expert, own));
    }
    return step(std::move(move), std::move(operands), shape);
  }

  // The answers of one expert to its routes, [routes, hidden].
  ValueId answer_of(std::int64_t expert, const List& routes) {
    const std::int64_t hidden = layer_.last.rows;
    const auto rows = static_cast<std::int64_t>(routes.size());
    if (!claim({rows, hidden})) return 0;
    Move move;
    for (const std::int64_t route : routes) {
      for (std::int64_t i = 0; i < hidden; ++i) move.index.push_back(route / layer_.chosen * hidden + i);
    }
    const ValueId tokens = step(std::move(move), {node_.id(0)}, {rows, hidden});
    const ValueId first = product(layer_.first, expert, tokens, rows);
    const ValueId linear = layer_.linear ? product(*layer_.linear, expert, tokens, rows) : 0;
    return product(layer_.last, expert, activated(first, linear, rows), rows);
  }

  // Rows of activations times the expert's matrix, with its bias.
  ValueId product(const ExpertMatrices& matrices, std::int64_t expert, ValueId rows, std::int64_t count) {
    WeightedSum sum{.taps = MatrixTaps{.m = count,
                                       .n = matrices.rows,
                                       .k = matrices.columns,
                                       .a_row = matrices.columns,
                                       .b_inner = 1,
                                       .b_column = matrices.columns}};
    // The text: experts in blocks take codes of 8 bits at level 4, and those of 8 bits at every level.
    const bool takes_codes = matrices.bits == 8 || node_.get_or<std::int64_t>("accuracy_level", 0) == 4;
    if (takes_codes) sum.activation_block = matrices.block;
    const Shape shape{count, matrices.rows};
    std::vector<ValueId> operands{rows, weights_of(matrices, expert)};
    if (node_.has(matrices.inputs.bias())) {
      if (!claim(shape)) return 0;
      for (std::int64_t i = 0; i < elements_of(shape); ++i) {
        sum.c_index.push_back(expert * matrices.rows + i % matrices.rows);
      }
      operands.push_back(node_.id(matrices.inputs.bias()));
    }
    return step(std::move(sum), std::move(operands), shape);
  }

  // The expert's matrix, dequantized.
  ValueId weights_of(const ExpertMatrices& matrices, std::int64_t expert) {
    const Shape shape{matrices.rows, matrices.columns};
    const Tensor* bytes = stated(matrices.inputs.weights, matrices.inputs.field("experts_weights"));
    const Tensor* scales = stated(matrices.inputs.scales(), matrices.inputs.field("scales"));
    const auto zero_points = zero_points_of(matrices, expert);
    if (!claim(shape)) return 0;
    const std::int64_t begin = expert * matrices.rows * matrices.bytes(matrices.columns);
    std::vector<double> elements;
    for (std::int64_t i = 0; i < elements_of(shape); ++i) {
      elements.push_back(static_cast<double>(packed_number(*bytes, begin, i, matrices.bits)));
    }
    const bool is_blocked = matrices.block != 0;
    reference::DequantizeLinear dequantize{.layout = {.outer = is_blocked ? matrices.rows : 1,
                                                      .channels = is_blocked ? matrices.columns : matrices.rows,
                                                      .inner = is_blocked ? 1 : matrices.columns,
                                                      .block = matrices.block},
                                           .x_type = ElementType::uint8,
                                           .y_type = type_,
                                           .x_scale = {},
                                           .x_zero_point = zero_points};
    for (std::int64_t i = 0; i < matrices.parameters(); ++i) {
      dequantize.x_scale.push_back(number_at(*scales, expert * matrices.parameters() + i));
    }
    const ValueId integers = node_.add_stated(ElementType::uint8, shape, std::move(elements));
    return step(Dequantize{std::move(dequantize)}, {integers}, shape);
  }

  // Zero points are packed along the rows of a matrix, or along the blocks of each row. Without them it is the middle.
  std::vector<double> zero_points_of(const ExpertMatrices& matrices, std::int64_t expert) {
    const std::size_t input = matrices.inputs.zero_points;
    const auto middle = static_cast<double>(std::int64_t{1} << (matrices.bits - 1));
    std::vector<double> points(static_cast<std::size_t>(matrices.parameters()), middle);
    const Tensor* packed = node_.has(input) ? stated(input, matrices.inputs.field("zero_points")) : nullptr;
    if (packed == nullptr) return points;
    const std::int64_t length = matrices.block == 0 ? matrices.rows : matrices.blocks();
    for (std::int64_t i = 0; i < matrices.parameters(); ++i) {
      const std::int64_t row = (expert * matrices.parameters() + i) / length;
      points[static_cast<std::size_t>(i)] =
          static_cast<double>(packed_number(*packed, row * matrices.bytes(length), i % length, matrices.bits));
    }
    return points;
  }

  const Tensor* stated(std::size_t input, const std::string& name) {
    const Tensor* tensor = has_failed_ ? nullptr : node_.stated(input, name);
    has_failed_ = tensor == nullptr;
    return tensor;
  }

  // [count, columns of the last matrix]
  ValueId activated(ValueId first, ValueId linear, std::int64_t count) {
    const Shape shape{count, layer_.last.columns};
    if (layer_.activation == "relu") return elementwise(Function::relu, {first}, shape);
    if (layer_.activation == "gelu") {
      // The text does not say which of both is meant.
      return elementwise(
          Function::either,
          {elementwise(Function::gelu, {first}, shape), elementwise(Function::gelu_tanh, {first}, shape)}, shape);
    }
    if (layer_.activation == "silu") return swish(first, 1, shape);
    if (layer_.activation == "identity") return first;
    if (layer_.fusion == 0) return swiglu(first, linear, shape);
    return swiglu(part(first, 0, shape), part(first, 1, shape), shape);
  }
  ValueId swish(ValueId x, double alpha, const Shape& shape) {
    const ValueId scaled = alpha == 1 ? x : with_number(Function::mul, x, alpha, shape);
    return elementwise(Function::mul, {x, elementwise(Function::sigmoid, {scaled}, shape)}, shape);
  }
  // Gate 0 or linear part 1 of a fused matrix.
  ValueId part(ValueId fused, std::int64_t which, const Shape& shape) {
    if (!claim(shape)) return 0;
    const std::int64_t width = shape[1];
    Move move;
    for (std::int64_t i = 0; i < elements_of(shape); ++i) {
      const std::int64_t row = i / width * 2 * width;
      move.index.push_back(row + (layer_.fusion == 1 ? i % width * 2 + which : which * width + i % width));
    }
    return step(std::move(move), {fused}, shape);
  }
  ValueId swiglu(ValueId gate, ValueId linear, const Shape& shape) {
    constexpr double kEnd = std::numeric_limits<double>::infinity();
    const auto* limit = node_.get<float>("swiglu_limit");
    if (limit != nullptr) {
      gate = clipped(gate, -kEnd, *limit, shape);
      linear = clipped(linear, -static_cast<double>(*limit), *limit, shape);
    }
    const double beta = node_.get_or<float>("activation_beta", 0);
    if (beta != 0) linear = with_number(Function::add, linear, beta, shape);
    return elementwise(Function::mul, {swish(gate, node_.get_or<float>("activation_alpha", 1), shape), linear}, shape);
  }

  const NodeLowering& node_;
  const ExpertLayer& layer_;
  const List& routes_;
  const ElementType type_;
  bool has_failed_ = false;
};

bool lower_experts(const NodeLowering& node) {
  if (!check_expert_attributes(node)) return false;
  const auto layer = expert_layer(node);
  if (!layer) return false;
  const auto routes = routes_of(node, *layer);
  return routes && ExpertsExpansion(node, *layer, *routes).run();
}

constexpr AttributeSignature kExperts[] = {{"accuracy_level", kIntAttribute},
                                           {"activation_alpha", kFloatAttribute},
                                           {"activation_beta", kFloatAttribute},
                                           {"activation_type", kStringAttribute},
                                           {"block_size", kIntAttribute},
                                           {"expert_weight_bits", kIntAttribute},
                                           {"fc1_expert_weight_bits", kIntAttribute},
                                           {"fc2_expert_weight_bits", kIntAttribute},
                                           {"fc3_expert_weight_bits", kIntAttribute},
                                           {"k", kIntAttribute},
                                           {"normalize_routing_weights", kIntAttribute},
                                           {"quant_type", kStringAttribute},
                                           {"swiglu_fusion", kIntAttribute},
                                           {"swiglu_limit", kFloatAttribute},
                                           {"swiglu_limit_after_activation", kIntAttribute},
                                           {"use_sparse_mixer", kIntAttribute},
                                           {"weights_prepacked", kIntAttribute}};

/// Bits of the inputs of the layer's own float type: the tokens, the router, the biases.
constexpr std::uint32_t kOfTokenType =
    1U << 0 | 1U << kRouterProbs | 1U << 4 | 1U << 7 | 1U << 10 | 1U << kRouterWeights;

constexpr NodeOperator kExpertNodes[] = {
    {.name = "QMoE",
     .since = 1,
     .least_inputs = 6,
     .most_inputs = 21,
     .types = TypeSet{ElementType::float32, ElementType::float16, ElementType::bfloat16},
     .attributes = kExperts,
     .lower = lower_experts,
     .like_first = kOfTokenType,
     .computes = true,
     .domain = "com.microsoft",
     .is_quantized = true,
     .optional = 1U << 3 | 1U << 4},
};

}  // namespace

std::span<const NodeOperator> expert_nodes() {
  return kExpertNodes;
}

}  // namespace qconform::lowering
