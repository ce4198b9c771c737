// Normalizations, and activations that other operators define.
#include <fmt/format.h>

#include <algorithm>

#include "harness/graphs/node_lowering.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;
using enum ElementType;
using List = std::vector<std::int64_t>;

// x normalized in rows of `length`.
std::optional<ValueId> normalized(const NodeLowering& node, std::int64_t length, bool centred = true) {
  if (length < 1) return node.limit("X", "an empty row is not judged"), std::nullopt;
  node.rounds();
  const Normalize step{.length = length, .epsilon = node.get_or<float>("epsilon", 1e-5F), .centred = centred};
  return node.compute(step, {node.id(0)}, node.shape(0), node.type(0));
}

// y = x * scale + bias, with the element of scale and bias for each element of x; the bias may be omitted.
bool finish_scaled(const NodeLowering& node, ValueId x, const List& index, std::optional<std::size_t> bias) {
  const Shape& shape = node.shape(0);
  const Elementwise product{.function = Function::mul, .index = {{}, index}};
  if (!node.claim(shape) || !node.claim_taps(static_cast<std::int64_t>(index.size()))) return false;
  if (!bias) return node.emit(product, {x, node.id(1)}, shape);
  const auto scaled = node.compute(product, {x, node.id(1)}, shape, node.type(0));
  return scaled &&
         node.emit(Elementwise{.function = Function::add, .index = {{}, index}}, {*scaled, node.id(*bias)}, shape);
}

// For each element of x the channel, axis 1, that it belongs to.
List channels_of(const Shape& x) {
  return strided({x[0], x[1], elements_of(x) / std::max<std::int64_t>(1, x[0] * x[1])}, {0, 1, 0});
}

bool check_channels(const NodeLowering& node, std::initializer_list<std::size_t> inputs) {
  if (node.shape(0).size() < 2) return node.violate("X", "expected rank 2 or more");
  return std::all_of(inputs.begin(), inputs.end(), [&](std::size_t input) {
    return node.shape(input) == Shape{node.shape(0)[1]} ||
           node.violate(fmt::format("inputs[{}]", input),
                        fmt::format("expected shape [{}], got {}", node.shape(0)[1], shape_text(node.shape(input))));
  });
}

bool has_elements(const NodeLowering& node) {
  return elements_of(node.shape(0)) > 0 || node.limit("X", "no element is there");
}

// LayerNormalization and RMSNormalization: rows from `axis` on; scale and bias are broadcast.
bool lower_layer_normalization(const NodeLowering& node, bool centred) {
  const Shape& x = node.shape(0);
  if (!has_elements(node)) return false;
  if (node.node().outputs.size() > 1) return node.limit("outputs", "mean and deviation are not judged");
  if (node.get_or<std::int64_t>("stash_type", 1) != 1) return node.limit("stash_type", "is judged as float32 alone");
  const auto axis = node.axis(node.get_or<std::int64_t>("axis", -1), x.size(), "axis");
  if (!axis) return false;
  const std::size_t last = node.has(2) ? 2 : 1;
  for (std::size_t input = 1; input <= last; ++input) {
    if (broadcast_shape(node.shape(input), x) == x) continue;
    return node.violate(fmt::format("inputs[{}]", input),
                        fmt::format("{} does not broadcast to {}", shape_text(node.shape(input)), shape_text(x)));
  }
  if (last == 2 && node.shape(1) != node.shape(2)) return node.limit("B", "a shape that is not scale's is not judged");
  const auto row =
      normalized(node, elements_of(Shape(x.begin() + static_cast<std::ptrdiff_t>(*axis), x.end())), centred);
  const List index = broadcast_index(node.shape(1), x);
  return row && finish_scaled(node, *row, index, last == 2 ? std::optional<std::size_t>(2) : std::nullopt);
}

bool lower_instance_normalization(const NodeLowering& node) {
  if (!has_elements(node) || !check_channels(node, {1, 2})) return false;
  const Shape& x = node.shape(0);
  const auto row = normalized(node, elements_of(x) / (x[0] * x[1]));
  return row && finish_scaled(node, *row, channels_of(x), 2);
}

// Version 18 has a scale and a bias for each group, version 21 for each channel.
bool lower_group_normalization(const NodeLowering& node) {
  const Shape& x = node.shape(0);
  if (!has_elements(node)) return false;
  if (x.size() < 2) return node.violate("X", "expected rank 2 or more");
  const std::int64_t groups = node.get_or<std::int64_t>("num_groups", 0);
  if (groups < 1 || x[1] % groups != 0) {
    return node.violate("num_groups", fmt::format("expected a divisor of {} channels, got {}", x[1], groups));
  }
  const bool has_channels = node.opset() >= 21;
  const std::int64_t parameters = has_channels ? x[1] : groups;
  for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
    if (node.shape(input) != Shape{parameters}) {
      return node.violate(fmt::format("inputs[{}]", input),
                          fmt::format("expected shape [{}], got {}", parameters, shape_text(node.shape(input))));
    }
  }
  const std::int64_t row_length = elements_of(x) / (x[0] * groups);
  const auto row = normalized(node, row_length);
  const List index = has_channels ? channels_of(x) : strided({x[0], groups, row_length}, {0, 1, 0});
  return row && finish_scaled(node, *row, index, 2);
}

// (x - mean) * (scale / sqrt(variance + epsilon)) + bias, by channel, for inference.
bool lower_batch_normalization(const NodeLowering& node) {
  if (!has_elements(node) || !check_channels(node, {1, 2, 3, 4})) return false;
  if (node.get_or<std::int64_t>("training_mode", 0) != 0 || node.node().outputs.size() > 1) {
    return node.limit("training_mode", "training is not judged");
  }
  node.rounds();
  const Shape& x = node.shape(0);
  const Shape channels{x[1]};
  const ElementType type = node.type(0);
  const ValueId epsilon = node.add_stated(type, {}, {node.get_or<float>("epsilon", 1e-5F)});
  const List none(static_cast<std::size_t>(x[1]), 0);
  const auto shifted =
      node.compute(Elementwise{.function = Function::add, .index = {{}, none}}, {node.id(4), epsilon}, channels, type);
  if (!shifted) return false;
  const auto root = node.compute(Elementwise{.function = Function::sqrt}, {*shifted}, channels, type);
  if (!root) return false;
  const auto factor = node.compute(Elementwise{.function = Function::div}, {node.id(1), *root}, channels, type);
  const List index = channels_of(x);
  if (!factor || !node.claim_taps(elements_of(x))) return false;
  const auto centred =
      node.compute(Elementwise{.function = Function::sub, .index = {{}, index}}, {node.id(0), node.id(3)}, x, type);
  if (!centred) return false;
  const auto scaled =
      node.compute(Elementwise{.function = Function::mul, .index = {{}, index}}, {*centred, *factor}, x, type);
  return scaled && node.claim(x) &&
         node.emit(Elementwise{.function = Function::add, .index = {{}, index}}, {*scaled, node.id(2)}, x);
}

// x * sigmoid(alpha * x).
bool lower_swish(const NodeLowering& node, float alpha) {
  Expansion out(node);
  std::string x = out.input(0);
  if (alpha != 1) x = out.add("Mul", {x, out.constant(Tensor::scalar(float32, alpha))});
  return out.finish("Mul", {out.input(0), out.add("Sigmoid", {x})});
}

using namespace node_types;

constexpr AttributeSignature kLayer[] = {
    {"axis", kIntAttribute}, {"epsilon", kFloatAttribute}, {"stash_type", kIntAttribute}};
constexpr AttributeSignature kEpsilon[] = {{"epsilon", kFloatAttribute}};
constexpr AttributeSignature kGroups[] = {
    {"epsilon", kFloatAttribute}, {"num_groups", kIntAttribute}, {"stash_type", kIntAttribute}};
constexpr AttributeSignature kBatch[] = {
    {"epsilon", kFloatAttribute}, {"momentum", kFloatAttribute}, {"training_mode", kIntAttribute}};
constexpr AttributeSignature kSwishAlpha[] = {{"alpha", kFloatAttribute}};

constexpr NodeOperator normalization(std::string_view name, std::int64_t since, TypeSet types, std::size_t least_inputs,
                                     std::size_t most_inputs, std::span<const AttributeSignature> attributes,
                                     bool (*lower)(const NodeLowering&), std::size_t most_outputs = 1,
                                     std::string_view domain = {}) {
  NodeOperator result = node_operator(name, since, types, least_inputs, most_inputs, attributes, lower);
  result.computes = true;
  result.most_outputs = most_outputs;
  result.domain = domain;
  return result;
}

constexpr auto kCentred = [](const NodeLowering& node) { return lower_layer_normalization(node, true); };
constexpr auto kSwish = [](const NodeLowering& node) { return lower_swish(node, node.get_or<float>("alpha", 1)); };
constexpr auto kQuickGelu = [](const NodeLowering& node) {
  return lower_swish(node, node.get_or<float>("alpha", 1.702F));
};

constexpr NodeOperator kNormalizationNodes[] = {
    normalization("LayerNormalization", 17, kFloats13, 2, 3, kLayer, kCentred, 3),
    normalization("RMSNormalization", 23, kFloats13, 2, 2, kLayer,
                  [](const NodeLowering& node) { return lower_layer_normalization(node, false); }),
    normalization("InstanceNormalization", 6, kFloats, 3, 3, kEpsilon, lower_instance_normalization),
    normalization("InstanceNormalization", 22, kFloats13, 3, 3, kEpsilon, lower_instance_normalization),
    normalization("GroupNormalization", 18, kFloats13, 3, 3, std::span(kGroups).first(2), lower_group_normalization),
    normalization("GroupNormalization", 21, kFloats13, 3, 3, kGroups, lower_group_normalization),
    normalization("BatchNormalization", 9, kFloats, 5, 5, std::span(kBatch).first(2), lower_batch_normalization, 5),
    normalization("BatchNormalization", 14, kFloats13, 5, 5, kBatch, lower_batch_normalization, 3),
    normalization("BatchNormalization", 15, kFloats13, 5, 5, kBatch, lower_batch_normalization, 3),
    normalization("Swish", 24, kFloats13, 1, 1, kSwishAlpha, kSwish),
    normalization("QuickGelu", 1, kFloats13, 1, 1, kSwishAlpha, kQuickGelu, 1, "com.microsoft"),
};

}  // namespace

std::span<const NodeOperator> normalization_nodes() {
  return kNormalizationNodes;
}

}  // namespace qconform::lowering
