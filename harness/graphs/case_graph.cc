#include "harness/graphs/case_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "harness/base/text.h"
#include "harness/core/limits.h"
#include "harness/graphs/node_lowering.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"

namespace qconform {
namespace {

constexpr const char* kRule = "graph";

Result<void> check_count(const std::string& field, std::size_t count, std::size_t limit) {
  if (count <= limit) return {};
  return fail(field, fmt::format("{} exceed the limit of {}", count, limit), "limit");
}

// The names that are taken so far.
class Values {
 public:
  Result<void> add(const std::string& name, const std::string& field) {
    if (name.empty()) return fail(field, "a value has no name", kRule);
    if (name.starts_with("qconform.")) return fail(field, quoted_name(name) + " is a name of qconform's own", kRule);
    if (names_.insert(name).second) return {};
    return fail(field, quoted_name(name) + " names two values", kRule);
  }
  [[nodiscard]] bool has(const std::string& name) const { return names_.contains(name); }

 private:
  std::set<std::string> names_;
};

Result<void> check_left_out(const Case& test_case) {
  const Node& node = test_case.node();
  const bool has_none = node.inputs.empty() && node.outputs.empty() && test_case.input_names.empty() &&
                        test_case.outputs.empty() && test_case.fed_inputs == 0;
  if (has_none) return {};
  return fail("nodes", node.op_type + " alone stands in the case itself: its values have no names", kRule);
}

Result<void> check_tensors(const Case& test_case, Values& values) {
  QCONFORM_TRY(check_count("inputs", test_case.inputs.size(), limits::kGraphTensors));
  if (test_case.input_names.size() != test_case.inputs.size()) {
    return fail("inputs",
                fmt::format("{} tensors have {} names", test_case.inputs.size(), test_case.input_names.size()), kRule);
  }
  if (test_case.fed_inputs > test_case.inputs.size()) {
    return fail("inputs",
                fmt::format("{} of {} are inputs of the graph", test_case.fed_inputs, test_case.inputs.size()), kRule);
  }
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const std::string field = fmt::format("inputs[{}]", i);
    if (!test_case.inputs[i]) return fail(field, "has no tensor", kRule);
    QCONFORM_TRY(values.add(test_case.input_names[i], field));
  }
  return {};
}

Result<void> check_node(const Node& node, const std::string& field, Values& values) {
  QCONFORM_TRY(check_count(field + ".inputs", node.inputs.size(), limits::kInputs));
  QCONFORM_TRY(check_count(field + ".outputs", node.outputs.size(), limits::kInputs));
  for (const std::string& name : node.inputs) {
    if (!name.empty() && !values.has(name)) {
      return fail(field + ".inputs",
                  quoted_name(name) + " names neither a tensor of the case nor an output of an earlier node", kRule);
    }
  }
  std::size_t computed = 0;
  for (const std::string& name : node.outputs) {
    if (name.empty()) continue;
    ++computed;
    QCONFORM_TRY(values.add(name, field + ".outputs"));
  }
  if (computed == 0) return fail(field + ".outputs", "the node computes nothing", kRule);
  return {};
}

Result<void> check_versions(const Case& test_case) {
  std::map<std::string, std::int64_t> versions;
  for (const Node& node : test_case.nodes) {
    const std::string domain = node.domain == "ai.onnx" ? "" : node.domain;
    const std::int64_t version = versions.emplace(domain, node.opset_version).first->second;
    if (version != node.opset_version) {
      return fail("opset_version",
                  fmt::format("domain {} has versions {} and {}", quoted_name(domain), version, node.opset_version),
                  kRule);
    }
  }
  return {};
}

Result<void> check_outputs(const Case& test_case, const Values& values) {
  if (test_case.outputs.empty()) return fail("outputs", "the graph has none", kRule);
  QCONFORM_TRY(check_count("outputs", test_case.outputs.size(), limits::kInputs));
  std::set<std::string> named(test_case.input_names.begin(), test_case.input_names.end());
  for (const std::string& name : test_case.outputs) {
    if (!values.has(name)) return fail("outputs", quoted_name(name) + " is computed by no node", kRule);
    if (!named.insert(name).second) return fail("outputs", quoted_name(name) + " is an input, or named twice", kRule);
  }
  std::set<std::string> judged(test_case.outputs.begin(), test_case.outputs.end());
  for (const std::string& name : test_case.shown_outputs) {
    if (judged.erase(name) == 0)
      return fail("shown_outputs", quoted_name(name) + " is no output, or named twice", kRule);
  }
  if (judged.empty()) return fail("shown_outputs", "names every output: nothing is judged", kRule);
  return {};
}

Result<void> check_stated(const Case& test_case) {
  if (test_case.nodes.empty()) return fail("nodes", "the graph has none", kRule);
  QCONFORM_TRY(check_count("nodes", test_case.nodes.size(), limits::kNodes));
  Values values;
  QCONFORM_TRY(check_tensors(test_case, values));
  for (std::size_t i = 0; i < test_case.nodes.size(); ++i) {
    QCONFORM_TRY(check_node(test_case.nodes[i], fmt::format("nodes[{}]", i), values));
  }
  QCONFORM_TRY(check_outputs(test_case, values));
  return check_versions(test_case);
}

}  // namespace

Result<void> check_wiring(const Case& test_case) {
  QCONFORM_TRY(is_judged_as_graph(test_case) ? check_stated(test_case) : check_left_out(test_case));
  const std::size_t recorded = test_case.recorded_outputs.size();
  if (recorded == 0 || recorded == test_case.output_count()) return {};
  return fail("recorded_outputs", fmt::format("expected {} or none, got {}", test_case.output_count(), recorded),
              kRule);
}

Case in_own_order(Case test_case) {
  if (is_judged_as_graph(test_case)) return test_case;
  const std::vector<std::string> names = input_names(test_case);
  const Node node = named_nodes(test_case).front();
  std::vector<std::optional<Tensor>> inputs;
  for (const std::string& name : node.inputs) {
    const auto at = std::find(names.begin(), names.end(), name);
    inputs.push_back(at == names.end() ? std::nullopt : test_case.inputs[static_cast<std::size_t>(at - names.begin())]);
  }
  test_case.inputs = std::move(inputs);
  test_case.input_names.clear();
  test_case.outputs.clear();
  test_case.fed_inputs = 0;
  test_case.node().inputs.clear();
  test_case.node().outputs.clear();
  return test_case;
}

Result<Case> wired(Case test_case) {
  QCONFORM_TRY(check_stated(test_case));
  const Node& node = test_case.node();
  if (!is_judged_as_graph(test_case) && node.outputs.size() != 1) {
    return fail("outputs", fmt::format("a case of {} has one output, got {}", node.op_type, node.outputs.size()),
                kRule);
  }
  Case result = in_own_order(std::move(test_case));
  QCONFORM_TRY(check_wiring(result));
  return result;
}

namespace lowering {
namespace {

constexpr std::array<const char*, std::variant_size_v<Attribute::Value>> kAttributeTypes{
    "an integer", "a float", "a string", "a list of integers", "a list of floats", "a list of strings"};

bool check_counts(const NodeLowering& node, const NodeOperator& known) {
  const std::size_t inputs = node.inputs();
  if (inputs > known.most_inputs || (inputs < known.least_inputs)) {
    return node.signature("inputs", fmt::format("expected {} to {} at opset {}, got {}", known.least_inputs,
                                                known.most_inputs, node.opset(), inputs));
  }
  const std::size_t required = known.most_inputs == kAnyNumber ? inputs : known.least_inputs;
  for (std::size_t i = 0; i < required; ++i) {
    const bool may_lack = i < 32 && (known.optional >> i & 1U) != 0;
    if (!may_lack && !node.has(i)) return node.signature("inputs", fmt::format("input {} is required", i));
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
  if (known.wraps && type == ElementType::int32) return true;
  return !known.computes || type == ElementType::float32 || is_16bit_float(type);
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

bool lower_node(ProgramBuilder& builder, const Node& node, std::size_t index, reference::Contract& contract) {
  const bool is_old = (node.domain.empty() || node.domain == "ai.onnx") && node.opset_version < 10;
  const NodeOperator* known = is_old ? nullptr : find_node_operator(node.op_type, node.opset_version, node.domain);
  if (known == nullptr) return report_unknown(node, index, contract);
  const NodeLowering lowered(builder, node, index);
  if (!check_counts(lowered, *known)) return false;
  if (known->is_single_operator) return known->lower(lowered);
  return check_attributes(lowered, known->attributes) && check_types(lowered, *known) && known->lower(lowered);
}

namespace {

// The versions of an operator lie together.
using Versions = std::span<const NodeOperator>;
using Identity = std::pair<std::string_view, std::string_view>;  // domain and name

std::map<Identity, Versions> versions_by_identity() {
  std::map<Identity, Versions> all;
  for (const auto nodes : all_node_operators()) {
    for (std::size_t i = 0; i < nodes.size();) {
      std::size_t end = i;
      const Identity identity{nodes[i].domain, nodes[i].name};
      while (end < nodes.size() && Identity(nodes[end].domain, nodes[end].name) == identity) ++end;
      all.emplace(identity, nodes.subspan(i, end - i));
      i = end;
    }
  }
  return all;
}

}  // namespace

std::span<const std::span<const NodeOperator>> all_node_operators() {
  static const std::array all{convolution_nodes(),  product_nodes(),         pool_nodes(),      reduction_nodes(),
                              elementwise_nodes(),  shape_nodes(),           movement_nodes(),  resize_nodes(),
                              quantization_nodes(), integer_product_nodes(), microsoft_nodes(), normalization_nodes(),
                              recurrent_nodes(),    attention_nodes(),       expert_nodes()};
  return all;
}

const NodeOperator* find_node_operator(std::string_view name, std::int64_t opset_version, std::string_view domain) {
  static const std::map<Identity, Versions> all = versions_by_identity();
  const auto found = all.find({domain == "ai.onnx" ? "" : domain, name});
  if (found == all.end()) return nullptr;
  const NodeOperator* current = nullptr;
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

bool is_graph_operator(std::string_view domain, std::string_view op_type) {
  return lowering::find_node_operator(op_type, kNewestOpset, domain) != nullptr;
}

bool is_graph_operator(std::string_view op_type) {
  const auto has = [&](std::span<const lowering::NodeOperator> nodes) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const lowering::NodeOperator& one) { return one.name == op_type; });
  };
  const auto all = lowering::all_node_operators();
  return std::any_of(all.begin(), all.end(), has);
}

std::optional<GraphProgram> lower_graph(const Case& test_case, reference::Contract& contract) {
  lowering::ProgramBuilder builder(test_case, contract);
  if (!builder.read_tensors()) return std::nullopt;
  for (std::size_t i = 0; i < test_case.nodes.size(); ++i) {
    if (!lowering::lower_node(builder, test_case.nodes[i], i, contract)) return std::nullopt;
  }
  if (!builder.name_outputs()) return std::nullopt;
  return builder.take();
}

namespace {

CaseGraph::Node shown_node(const Node& node) {
  CaseGraph::Node result{
      .op_type = node.op_type, .domain = node.domain, .attributes = {}, .inputs = node.inputs, .outputs = node.outputs};
  for (const Attribute& attribute : node.attributes)
    result.attributes[attribute.name] = attribute_text(attribute.value);
  return result;
}

std::vector<CaseGraph::Value> computed_values(const Case& test_case) {
  reference::Contract contract;
  const auto lowered = check_wiring(test_case) ? lower_graph(test_case, contract) : std::nullopt;
  if (!lowered) return {};
  std::vector<CaseGraph::Value> result;
  for (std::size_t i = 0; i < lowered->names.size(); ++i) {
    const std::string& name = lowered->names[i];
    const bool is_stated =
        std::find(test_case.input_names.begin(), test_case.input_names.end(), name) != test_case.input_names.end();
    if (name.empty() || is_stated) continue;
    result.push_back({name, name_of(lowered->types[i]), lowered->program.values[i].shape, {}});
  }
  return result;
}

}  // namespace

CaseGraph::Value shown_value(const std::string& name, const Tensor& tensor) {
  CaseGraph::Value result{.name = name, .type = name_of(tensor.type), .shape = tensor.shape, .data = {}};
  const std::int64_t elements = tensor.elements();
  for (std::int64_t i = 0; elements <= CaseGraph::kMostElements && i < elements; ++i) {
    result.data.push_back(element_text(tensor, i));
  }
  return result;
}

CaseGraph shown_graph(const Case& test_case) {
  CaseGraph result;
  for (const Node& node : test_case.nodes) result.nodes.push_back(shown_node(node));
  for (std::size_t i = 0; i < test_case.inputs.size() && i < test_case.input_names.size(); ++i) {
    if (const Tensor* tensor = test_case.input(i)) {
      auto& values = i < test_case.fed_inputs ? result.inputs : result.initializers;
      values.push_back(shown_value(test_case.input_names[i], *tensor));
    }
  }
  result.computed = computed_values(test_case);
  result.outputs = test_case.outputs;
  return result;
}

}  // namespace qconform
