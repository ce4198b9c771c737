#include "harness/model/operator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/core/profile.h"
#include "harness/graphs/case_graph.h"
#include "harness/graphs/node_lowering.h"
#include "harness/model/family.h"

namespace qconform {

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kSaturated = std::int64_t{1} << 62;
  return b != 0 && a > kSaturated / b ? kSaturated : a * b;
}

std::int64_t Lowered::work() const {
  std::int64_t work = 1;
  for (const std::int64_t dimension : output_shape()) work = saturating_product(work, dimension);
  return work;
}

std::optional<Box> Lowered::read_by(InputRole /*role*/, const Box& /*output*/) const {
  return std::nullopt;
}

Expectation Classification::expectation() const {
  if (!contract.holds()) return Expectation::invalid;
  return contract.implementation_defined.empty() ? Expectation::valid : Expectation::implementation_defined;
}

bool Classification::is_judged() const {
  return contract.holds() || (contract.violation->rule != "operator" && contract.violation->rule != "limit");
}

const reference::Remark* Classification::deciding_remark() const {
  if (contract.violation) return &*contract.violation;
  return contract.implementation_defined.empty() ? nullptr : &contract.implementation_defined.front();
}

bool Operator::is_named(std::string_view its_domain, std::string_view op_type) const {
  return name == op_type && (its_domain.empty() || its_domain == "ai.onnx");
}

bool concerns(const CornerCaseInfo& corner_case, std::string_view op_type) {
  const Operator* known = operator_of_subject(op_type);
  return known != nullptr && known->corner_cases.contains(corner_case);
}

std::int64_t Operator::version_at(std::int64_t opset_version) const {
  std::int64_t current = 0;
  for (const std::int64_t version : versions) {
    if (version <= opset_version) current = version;
  }
  return current;
}

std::span<const Operator> operators() {
  static const std::vector<Operator> all = [] {
    std::vector<Operator> list;
    for (const Family* family : families()) list.insert(list.end(), family->operators.begin(), family->operators.end());
    return list;
  }();
  return all;
}

std::span<const std::string_view> operator_names() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> list;
    for (const Operator& known : operators()) list.push_back(known.name);
    return list;
  }();
  return all;
}

const Operator* find_operator(std::string_view domain, std::string_view op_type) {
  for (const Operator& candidate : operators()) {
    if (candidate.is_named(domain, op_type)) return &candidate;
  }
  return nullptr;
}

namespace {

const Operator* operator_of_graphs() {
  const auto found =
      std::find_if(operators().begin(), operators().end(), [](const Operator& o) { return o.judges_graphs; });
  return found == operators().end() ? nullptr : &*found;
}

// Whether a node that graphs are judged with has quantized data and the names of a graph: a pool of bytes, say.
bool moves_quantized_data(const Case& test_case) {
  const Node& node = test_case.node();
  if (node.outputs.empty() || !is_graph_operator(node.domain, node.op_type)) return false;
  return std::any_of(test_case.inputs.begin(), test_case.inputs.end(),
                     [](const std::optional<Tensor>& tensor) { return tensor && is_narrow(tensor->type); });
}

const InputSignature* own_input(const Case& test_case, std::size_t position) {
  const Operator* known = operator_of(test_case);
  return known != nullptr && position < known->inputs.size() ? &known->inputs[position] : nullptr;
}

}  // namespace

const Operator* operator_of_subject(std::string_view subject) {
  if (const Operator* known = find_operator("", subject)) return known;
  return is_graph_operator(subject) ? operator_of_graphs() : nullptr;
}

const Operator* operator_of(const Case& test_case) {
  if (test_case.nodes.size() != 1) return operator_of_graphs();
  const Node& node = test_case.node();
  const Operator* own = find_operator(node.domain, node.op_type);
  if (own != nullptr) return own->judges_graphs ? nullptr : own;
  const bool is_graph = is_quantized_graph_operator(node.domain, node.op_type) || moves_quantized_data(test_case);
  return is_graph ? operator_of_graphs() : nullptr;
}

bool is_judged_as_graph(const Case& test_case) {
  const Operator* known = operator_of(test_case);
  return known != nullptr && known->judges_graphs;
}

std::string_view input_name(const Case& test_case, std::size_t position) {
  if (position < test_case.input_names.size()) return test_case.input_names[position];
  const InputSignature* signature = own_input(test_case, position);
  return signature == nullptr ? std::string_view{} : signature->name;
}

std::vector<std::string> input_names(const Case& test_case) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const std::string_view name = input_name(test_case, i);
    if (!test_case.inputs[i]) {
      names.emplace_back();
    } else {
      names.push_back(name.empty() ? "input_" + std::to_string(i) : std::string(name));
    }
  }
  return names;
}

std::vector<std::string> output_names(const Case& test_case) {
  return test_case.outputs.empty() ? std::vector<std::string>{"y"} : test_case.outputs;
}

std::vector<Node> named_nodes(const Case& test_case) {
  std::vector<Node> nodes = test_case.nodes;
  for (Node& node : nodes) {
    if (!node.outputs.empty()) continue;
    node.inputs = input_names(test_case);
    node.outputs = output_names(test_case);
  }
  return nodes;
}

InputRole role_of(const Case& test_case, std::size_t position) {
  if (is_judged_as_graph(test_case)) {
    const Tensor* tensor = test_case.input(position);
    if (position < test_case.fed_inputs || tensor == nullptr) return InputRole::data;
    return tensor->shape.size() < 2 ? InputRole::parameter : InputRole::weight;
  }
  const InputSignature* signature = own_input(test_case, position);
  return signature == nullptr ? InputRole::data : signature->role;
}

const Family* family_of(const Case& test_case) {
  const Operator* known = operator_of(test_case);
  return known == nullptr ? nullptr : family_of("", known->name);
}

const Family* family_of(std::string_view domain, std::string_view op_type) {
  for (const Family* family : families()) {
    for (const Operator& known : family->operators) {
      if (known.is_named(domain, op_type)) return family;
    }
  }
  return nullptr;
}

std::string operator_name(std::string_view domain, std::string_view op_type) {
  const bool is_default = domain.empty() || domain == "ai.onnx";
  return is_default ? std::string(op_type) : std::string(domain) + "::" + std::string(op_type);
}

std::string operator_name(const Case& test_case) {
  std::string all;
  for (const Node& node : test_case.nodes) all += (all.empty() ? "" : "+") + operator_name(node.domain, node.op_type);
  return all;
}

Result<void> check_operator(const Case& test_case) {
  const Operator* known = operator_of(test_case);
  const bool lacks_names = test_case.nodes.size() == 1 && test_case.node().outputs.empty();
  if (known != nullptr && !(known->judges_graphs && lacks_names)) return {};
  const Node& node = test_case.node();
  if (lowering::find_node_operator(node.op_type, kNewestOpset, node.domain) != nullptr) {
    return fail("op_type", operator_name(test_case) + " is judged in graphs alone, whose nodes name their values",
                "operator");
  }
  std::vector<std::string_view> names;
  for (const Operator& each : operators()) {
    if (!each.judges_graphs) names.push_back(each.name);
  }
  std::string expected;
  for (std::size_t i = 0; i < names.size(); ++i) {
    expected += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + std::string(names[i]);
  }
  return fail("op_type", "expected " + expected + ", got " + operator_name(test_case), "operator");
}

namespace {

// Checks all that does not depend on the family.
Result<void> check_form(const Case& test_case) {
  if (!test_case.nodes.empty()) {
    QCONFORM_TRY(check_operator(test_case));
    const Operator& known = *operator_of(test_case);
    const Node& node = test_case.node();
    if (known.version_at(node.opset_version) == 0) {
      return fail("opset_version",
                  node.op_type + " exists since opset " + std::to_string(known.versions.front()) + ", got " +
                      std::to_string(node.opset_version),
                  "opset");
    }
  }
  return check_wiring(test_case);
}

}  // namespace

Classification classify(const Case& test_case) {
  const Result<void> checked = check_form(test_case);
  if (checked) return operator_of(test_case)->classify(test_case);
  Classification result;
  result.contract.violate(checked.error().rule, checked.error().field, checked.error().message);
  return result;
}

void set_attribute(Case& test_case, std::string_view name, Attribute::Value value) {
  for (Attribute& attribute : test_case.node().attributes) {
    if (attribute.name != name) continue;
    attribute.value = std::move(value);
    return;
  }
  test_case.node().attributes.push_back({std::string(name), std::move(value)});
}

void erase_attribute(Case& test_case, std::string_view name) {
  std::erase_if(test_case.node().attributes, [&](const Attribute& attribute) { return attribute.name == name; });
}

}  // namespace qconform
