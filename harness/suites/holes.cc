#include "harness/suites/holes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <variant>

#include "harness/core/tensor.h"
#include "harness/graphs/node_lowering.h"
#include "harness/model/operator.h"

namespace qconform {
namespace {

using lowering::NodeOperator;

bool is_quantization(const Node& node) {
  return node.domain.empty() && (node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear");
}

// Numbers by their sign, 0 and 1 by themselves; lists and floats by being there.
std::string class_of(const Attribute& attribute) {
  if (const auto* text = std::get_if<std::string>(&attribute.value)) return attribute.name + " = " + *text;
  const auto* number = std::get_if<std::int64_t>(&attribute.value);
  if (number == nullptr) return attribute.name + " stated";
  if (*number < 0) return attribute.name + " < 0";
  return *number <= 1 ? fmt::format("{} = {}", attribute.name, *number) : attribute.name + " > 1";
}

std::string opset_class(std::int64_t opset) {
  static constexpr std::int64_t kFirst[] = {10, 13, 19, 21, 23};
  std::int64_t begin = 1;
  for (const std::int64_t first : kFirst) {
    if (first <= opset) begin = first;
  }
  return fmt::format("opset {} on", begin);
}

// Knows of each value of a case who makes it, and who reads it.
class Wiring {
 public:
  explicit Wiring(const Case& test_case) : case_(test_case), nodes_(named_nodes(test_case)) {
    const auto names = input_names(test_case);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i < test_case.inputs.size() && test_case.inputs[i]) tensors_[names[i]] = &*test_case.inputs[i];
    }
    for (const Node& node : nodes_) {
      for (const std::string& name : node.outputs) makers_[name] = &node;
      for (const std::string& name : node.inputs) readers_[name].push_back(&node);
    }
    for (const std::string& name : output_names(test_case)) outputs_.insert(name);
  }

  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }

  // The classes of what is around a node.
  [[nodiscard]] std::vector<std::string> places_of(const Node& node) const {
    std::vector<std::string> places{opset_class(opset())};
    if (!node.inputs.empty()) add_operand("x", node.inputs[0], places);
    if (node.inputs.size() > 1) add_operand("second operand", node.inputs[1], places);
    if (!node.outputs.empty()) add_result(node.outputs[0], places);
    return places;
  }

 private:
  [[nodiscard]] std::int64_t opset() const {
    for (const Node& node : nodes_) {
      if (node.domain.empty()) return node.opset_version;
    }
    return 0;
  }
  [[nodiscard]] const Tensor* tensor(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second;
  }
  [[nodiscard]] const Node* maker(const std::string& name) const {
    const auto found = makers_.find(name);
    return found == makers_.end() ? nullptr : found->second;
  }

  // The type of quantized data: that of a tensor, or of a QuantizeLinear by its zero point.
  [[nodiscard]] std::string type_of(const std::string& name) const {
    if (const Tensor* stated = tensor(name)) return name_of(stated->type);
    const Node* node = maker(name);
    if (node == nullptr || !is_quantization(*node)) return "computed";
    const Tensor* zero_point = node->inputs.size() > 2 ? tensor(node->inputs[2]) : nullptr;
    return zero_point == nullptr ? "of its default type" : name_of(zero_point->type);
  }

  void add_operand(const std::string& label, const std::string& name, std::vector<std::string>& places) const {
    const Node* from = maker(name);
    if (from != nullptr && from->op_type == "DequantizeLinear") {
      places.push_back(label + " dequantized " + type_of(from->inputs[0]));
      add_parameters(label, *from, places);
      add_extents(label, from->inputs[0], places);
    } else if (from == nullptr) {
      places.push_back(fmt::format("{} {} {}", label, is_fed(name) ? "fed" : "constant", type_of(name)));
      add_extents(label, name, places);
    } else {
      places.push_back(label + " computed");
    }
  }
  [[nodiscard]] bool is_fed(const std::string& name) const {
    const auto names = input_names(case_);
    const auto found = std::find(names.begin(), names.end(), name);
    return static_cast<std::size_t>(found - names.begin()) < case_.fed_inputs;
  }

  void add_parameters(const std::string& label, const Node& dequantize, std::vector<std::string>& places) const {
    const Tensor* scale = dequantize.inputs.size() > 1 ? tensor(dequantize.inputs[1]) : nullptr;
    if (scale != nullptr) {
      const bool is_blocked = dequantize.get_or<std::int64_t>("block_size", 0) != 0;
      places.push_back(label + (scale->elements() == 1 ? " by one scale" : is_blocked ? " in blocks" : " by axis"));
      places.push_back(fmt::format("{} scale {}", label, name_of(scale->type)));
    }
    const bool has_zero_point = dequantize.inputs.size() > 2 && !dequantize.inputs[2].empty();
    places.push_back(label + (has_zero_point ? " with a zero point" : " without a zero point"));
  }

  void add_extents(const std::string& label, const std::string& name, std::vector<std::string>& places) const {
    const Tensor* stated = tensor(name);
    if (stated == nullptr) return;
    places.push_back(fmt::format("{} of rank {}", label, stated->shape.size()));
    if (stated->elements() == 0) places.push_back(label + " without elements");
  }

  void add_result(const std::string& name, std::vector<std::string>& places) const {
    const auto readers = readers_.find(name);
    const std::size_t count = readers == readers_.end() ? 0 : readers->second.size();
    const bool is_output = outputs_.count(name) != 0;
    if (is_output) places.push_back(count == 0 ? "y an output" : "y an output too");
    if (count > 1) places.push_back("y read twice");
    for (std::size_t i = 0; i < count; ++i) {
      const Node& reader = *readers->second[i];
      if (reader.op_type == "QuantizeLinear") places.push_back("y quantized " + type_of(reader.outputs[0]));
    }
  }

  const Case& case_;
  std::vector<Node> nodes_;
  std::map<std::string, const Tensor*> tensors_;
  std::map<std::string, const Node*> makers_;
  std::map<std::string, std::vector<const Node*>> readers_;
  std::set<std::string> outputs_;
};

// Names of the attributes of an operator's versions, and the operators by name.
std::map<std::string, std::set<std::string>> attributes_by_operator() {
  std::map<std::string, std::set<std::string>> result;
  for (const std::span<const NodeOperator> list : lowering::all_node_operators()) {
    for (const NodeOperator& version : list) {
      const std::string name = operator_name(version.domain, version.name);
      if (name == "QuantizeLinear" || name == "DequantizeLinear") continue;
      std::set<std::string>& names = result[name];
      for (const AttributeSignature& attribute : version.attributes) names.emplace(attribute.name);
    }
  }
  return result;
}

}  // namespace

std::uint64_t OperatorHoles::holes() const {
  std::uint64_t count = 0;
  for (const auto& [attribute, places] : missing) count += places.size();
  return count;
}

void ClassPairs::add(const Case& test_case) {
  static const auto kAttributes = attributes_by_operator();
  const Wiring wiring(test_case);
  for (const Node& node : wiring.nodes()) {
    const std::string name = operator_name(node.domain, node.op_type);
    const auto known = kAttributes.find(name);
    if (known == kAttributes.end()) continue;
    std::vector<std::string> classes{""};
    for (const std::string& attribute : known->second) {
      const Attribute* stated = node.attribute(attribute);
      classes.push_back(stated == nullptr ? attribute + " absent" : class_of(*stated));
    }
    OfOperator& own = by_operator_[name];
    ++own.nodes;
    own.attributes.insert(classes.begin(), classes.end());
    for (const std::string& place : wiring.places_of(node)) {
      places_.insert(place);
      for (const std::string& attribute : classes) own.pairs.emplace(attribute, place);
    }
  }
}

std::vector<OperatorHoles> ClassPairs::holes() const {
  static const OfOperator kNever{0, {""}, {}};
  std::vector<OperatorHoles> result;
  for (const auto& [name, attributes] : attributes_by_operator()) {
    const auto found = by_operator_.find(name);
    const OfOperator& own = found == by_operator_.end() ? kNever : found->second;
    OperatorHoles& holes = result.emplace_back();
    holes.name = name;
    holes.nodes = own.nodes;
    holes.pairs = own.attributes.size() * places_.size();
    for (const std::string& attribute : attributes) {
      const auto states = [&](const std::string& one) {
        return one.starts_with(attribute + " ") && one != attribute + " absent";
      };
      if (std::none_of(own.attributes.begin(), own.attributes.end(), states)) holes.unstated.push_back(attribute);
    }
    for (const std::string& attribute : own.attributes) {
      for (const std::string& place : places_) {
        const bool is_of_operator = !attribute.empty() && own.pairs.count({"", place}) == 0;
        // A place that the operator is never in is told once.
        if (!is_of_operator && own.pairs.count({attribute, place}) == 0) holes.missing[attribute].push_back(place);
      }
    }
  }
  return result;
}

}  // namespace qconform
