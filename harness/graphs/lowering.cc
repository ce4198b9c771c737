#include "harness/graphs/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "harness/base/text.h"
#include "harness/core/limits.h"
#include "harness/graphs/node_operators.h"

namespace qconform {
namespace lowering {
namespace {

constexpr std::array<const char*, 5> kAttributeTypes{"an integer", "a float", "a string", "a list of integers",
                                                     "a list of floats"};

bool check_counts(const NodeLowering& node, const NodeOperator& known) {
  const std::size_t inputs = node.inputs();
  if (inputs > known.most_inputs || (inputs < known.least_inputs)) {
    return node.signature("inputs", fmt::format("expected {} to {} at opset {}, got {}", known.least_inputs,
                                                known.most_inputs, node.opset(), inputs));
  }
  const std::size_t required = known.most_inputs == kAnyNumber ? inputs : known.least_inputs;
  for (std::size_t i = 0; i < required; ++i) {
    if (!node.has(i)) return node.signature("inputs", fmt::format("input {} is required", i));
  }
  if (node.node().outputs.size() <= known.most_outputs) return true;
  return node.signature("outputs",
                        fmt::format("expected at most {}, got {}", known.most_outputs, node.node().outputs.size()));
}

bool check_attributes(const NodeLowering& node, std::span<const AttributeSignature> known) {
  for (const Attribute& attribute : node.node().attributes) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& signature) { return signature.name == attribute.name; });
    if (found == known.end()) {
      return node.signature(attribute.name,
                            fmt::format("{} has no such attribute at opset {}", node.node().op_type, node.opset()));
    }
    if (attribute.value.index() != found->value_index) {
      return node.signature(attribute.name, fmt::format("expected {}, got {}", kAttributeTypes[found->value_index],
                                                        kAttributeTypes[attribute.value.index()]));
    }
    if (node.attribute(attribute.name) != &attribute) return node.signature(attribute.name, "is given twice");
  }
  return true;
}

bool is_judged(const NodeOperator& known, ElementType type) {
  using enum ElementType;
  return !known.computes || type == float32 || type == float16 || type == bfloat16;
}

bool check_types(const NodeLowering& node, const NodeOperator& known) {
  std::optional<ElementType> first;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const bool is_like_first = (known.like_first >> std::min<std::size_t>(i, 31) & 1U) != 0;
    if (!is_like_first || !node.has(i)) continue;
    const ElementType type = node.type(i);
    const std::string field = fmt::format("inputs[{}]", i);
    if (!known.types.contains(type)) {
      return node.signature(field, fmt::format("expected element type {}, got {}", known.types.text(), name_of(type)));
    }
    if (!is_judged(known, type)) return node.limit(field, fmt::format("{} is not judged", name_of(type)));
    if (!first) first = type;
    if (type == *first) continue;
    return node.signature(field, fmt::format("expected the element type of the other inputs ({}), got {}",
                                             name_of(*first), name_of(type)));
  }
  return true;
}

bool report_unknown(const Node& node, std::size_t index, reference::Contract& contract) {
  const std::string field = fmt::format("nodes[{}].op_type", index);
  const bool is_onnx = node.domain.empty() || node.domain == "ai.onnx";
  if (is_onnx && node.opset_version >= 10 && find_node_operator(node.op_type, kNewestOpset) != nullptr) {
    return contract.violate("opset", field,
                            fmt::format("{} does not exist at opset {}", node.op_type, node.opset_version));
  }
  if (is_onnx && node.opset_version < 10) {
    return contract.violate("operator", field,
                            fmt::format("expected opset 10 or newer in a graph, got {}", node.opset_version));
  }
  return contract.violate("operator", field,
                          operator_name(node.domain, node.op_type) + " is not an operator that qconform knows");
}

}  // namespace

bool lower_node(ProgramBuilder& builder, const Case& test_case, std::size_t index, reference::Contract& contract) {
  const Node& node = test_case.nodes[index];
  const bool is_old = (node.domain.empty() || node.domain == "ai.onnx") && node.opset_version < 10;
  const NodeOperator* known = is_old ? nullptr : find_node_operator(node.op_type, node.opset_version, node.domain);
  if (known == nullptr) return report_unknown(node, index, contract);
  const NodeLowering lowered(builder, index);
  if (!check_counts(lowered, *known)) return false;
  if (known->is_single_operator) return known->lower(lowered);
  return check_attributes(lowered, known->attributes) && check_types(lowered, *known) && known->lower(lowered);
}

namespace {

// The versions of an operator lie together.
using Versions = std::span<const NodeOperator>;

std::unordered_map<std::string_view, Versions> versions_by_name() {
  std::unordered_map<std::string_view, Versions> all;
  for (const auto nodes : all_node_operators()) {
    for (std::size_t i = 0; i < nodes.size();) {
      std::size_t end = i;
      while (end < nodes.size() && nodes[end].name == nodes[i].name) ++end;
      all.emplace(nodes[i].name, nodes.subspan(i, end - i));
      i = end;
    }
  }
  return all;
}

}  // namespace

std::span<const std::span<const NodeOperator>> all_node_operators() {
  static const std::array all{convolution_nodes(),  product_nodes(),        pool_nodes(),     reduction_nodes(),
                              elementwise_nodes(),  shape_nodes(),          movement_nodes(), resize_nodes(),
                              quantization_nodes(), integer_product_nodes()};
  return all;
}

const NodeOperator* find_node_operator(std::string_view name, std::int64_t opset_version, std::string_view domain) {
  static const std::unordered_map<std::string_view, Versions> all = versions_by_name();
  const auto found = all.find(name);
  if (found == all.end()) return nullptr;
  const NodeOperator* current = nullptr;
  if (found->second.front().domain != (domain == "ai.onnx" ? "" : domain)) return nullptr;
  for (const NodeOperator& version : found->second) {
    if (version.since <= opset_version) current = &version;
  }
  return current;
}

}  // namespace lowering

bool is_quantized_graph_operator(std::string_view domain, std::string_view op_type) {
  const auto* known = lowering::find_node_operator(op_type, kNewestOpset, domain);
  return known != nullptr && known->is_quantized;
}

bool is_quantized_graph_operator(std::string_view op_type) {
  const auto has = [&](std::span<const lowering::NodeOperator> nodes) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const lowering::NodeOperator& one) { return one.name == op_type && one.is_quantized; });
  };
  const auto all = lowering::all_node_operators();
  return std::any_of(all.begin(), all.end(), has);
}

std::optional<GraphProgram> lower_graph(const Case& test_case, reference::Contract& contract) {
  lowering::ProgramBuilder builder(test_case, contract);
  if (!builder.read_tensors()) return std::nullopt;
  for (std::size_t i = 0; i < test_case.nodes.size(); ++i) {
    if (!lowering::lower_node(builder, test_case, i, contract)) return std::nullopt;
  }
  if (!builder.name_outputs()) return std::nullopt;
  return builder.take();
}

}  // namespace qconform
