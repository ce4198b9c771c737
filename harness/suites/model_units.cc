#include "harness/suites/model_nodes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "harness/base/text.h"
#include "harness/graphs/case_graph.h"
#include "harness/graphs/node_lowering.h"
#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"

namespace qconform {
namespace {

// Nodes in front of a Q, in a model that is quantized in part only.
constexpr std::size_t kMostUnitNodes = 24;

bool is_judged_in_graphs(const onnx::NodeProto& node) {
  const bool is_onnx = node.domain().empty() || node.domain() == "ai.onnx";
  return is_onnx && lowering::find_node_operator(node.op_type(), kNewestOpset) != nullptr;
}

bool is_dequantize(const onnx::NodeProto& node) {
  return node.op_type() == "DequantizeLinear";
}
bool is_quantize(const onnx::NodeProto& node) {
  return node.op_type() == "QuantizeLinear";
}

class UnitFinder {
 public:
  explicit UnitFinder(const GraphScope& scope) : scope_(scope), graph_(scope.graph()) {
    for (int i = 0; i < graph_.node_size(); ++i) {
      for (const std::string& name : graph_.node(i).output()) producer_[name] = i;
      for (const std::string& name : graph_.node(i).input()) readers_[name].push_back(i);
    }
    for (const onnx::ValueInfoProto& output : graph_.output()) readers_[output.name()].push_back(kOutside);
  }

  // Nothing where a Q quantizes what no node of a known operator computes from dequantized data.
  [[nodiscard]] std::optional<ModelUnit> unit_at(int quantize, std::size_t context) const {
    std::set<int> nodes{quantize};
    const int compute = producer_of(graph_.node(quantize).input(0));
    if (compute < 0 || is_dequantize(graph_.node(compute))) return std::nullopt;
    bool reads_quantized = false;
    std::deque<std::string> open{graph_.node(quantize).input(0)};
    for (; !open.empty(); open.pop_front()) {
      const int node = producer_of(open.front());
      if (node < 0 || nodes.size() > kMostUnitNodes || !nodes.insert(node).second) continue;
      reads_quantized = reads_quantized || is_dequantize(graph_.node(node));
      if (is_dequantize(graph_.node(node))) continue;
      open.insert(open.end(), graph_.node(node).input().begin(), graph_.node(node).input().end());
    }
    if (!reads_quantized) return std::nullopt;
    add_before(nodes, context);
    add_behind(nodes, context);
    return unit_of(quantize, graph_.node(compute), nodes);
  }

 private:
  static constexpr int kOutside = -1;

  // The node that computes a value while the model runs, if graphs are judged with it; -1 otherwise.
  [[nodiscard]] int producer_of(const std::string& value) const {
    const auto found = producer_.find(value);
    if (found == producer_.end() || scope_.constant(value) != nullptr) return -1;
    return is_judged_in_graphs(graph_.node(found->second)) ? found->second : -1;
  }

  // Every node of a unit is to lead to one of its outputs.
  [[nodiscard]] bool is_read(int node) const {
    const auto& names = graph_.node(node).output();
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return readers_.count(name) != 0; });
  }

  [[nodiscard]] bool is_computed_by(const std::set<int>& nodes, const std::string& value) const {
    const auto found = producer_.find(value);
    return found != producer_.end() && nodes.count(found->second) != 0;
  }

  void add_before(std::set<int>& nodes, std::size_t count) const {
    std::deque<int> near(nodes.begin(), nodes.end());
    for (std::size_t added = 0; added < count && !near.empty(); near.pop_front()) {
      for (const std::string& name : graph_.node(near.front()).input()) {
        const int node = producer_of(name);
        if (node < 0 || added == count || !nodes.insert(node).second) continue;
        near.push_back(node);
        ++added;
      }
    }
  }

  void add_behind(std::set<int>& nodes, std::size_t count) const {
    std::deque<int> near(nodes.begin(), nodes.end());
    for (std::size_t added = 0; added < count && !near.empty(); near.pop_front()) {
      for (const std::string& name : graph_.node(near.front()).output()) {
        const auto readers = readers_.find(name);
        if (readers == readers_.end()) continue;
        for (const int node : readers->second) {
          if (node == kOutside || added == count || !is_judged_in_graphs(graph_.node(node)) || !is_read(node)) continue;
          if (!nodes.insert(node).second) continue;
          add_weights_of(node, nodes);
          near.push_back(node);
          ++added;
        }
      }
    }
  }

  // Adds the nodes that dequantize constants for `reader`: they belong to it.
  void add_weights_of(int reader, std::set<int>& nodes) const {
    for (const std::string& name : graph_.node(reader).input()) {
      const int node = producer_of(name);
      if (node < 0 || !is_dequantize(graph_.node(node))) continue;
      if (scope_.constant(graph_.node(node).input(0)) != nullptr) nodes.insert(node);
    }
  }

  [[nodiscard]] ModelUnit unit_of(int quantize, const onnx::NodeProto& compute, const std::set<int>& nodes) const {
    ModelUnit unit;
    unit.name = compute.name().empty() ? compute.op_type() : printable(compute.name());
    unit.quantize = static_cast<std::size_t>(quantize);
    unit.nodes.assign(nodes.begin(), nodes.end());
    const auto note = [](std::vector<std::string>& names, const std::string& name) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    note(unit.outputs, graph_.node(quantize).output(0));
    for (const int i : nodes) {
      for (const std::string& name : graph_.node(i).input()) {
        if (!name.empty() && !is_computed_by(nodes, name) && scope_.constant(name) == nullptr) note(unit.fed, name);
      }
      for (const std::string& name : graph_.node(i).output()) {
        const auto readers = readers_.find(name);
        const bool is_read_inside =
            readers != readers_.end() && std::any_of(readers->second.begin(), readers->second.end(),
                                                     [&](int reader) { return nodes.count(reader) != 0; });
        if (!name.empty() && readers != readers_.end() && !is_read_inside) note(unit.outputs, name);
      }
    }
    return unit;
  }

  const GraphScope& scope_;
  const onnx::GraphProto& graph_;
  std::map<std::string, int> producer_;
  std::map<std::string, std::vector<int>> readers_;
};

// Data that the model does not hold and has not computed; an error says why they cannot be drawn.
Result<Tensor> drawn(const std::string& name, const ValueFacts& facts, std::int64_t max_elements, Rng& rng) {
  const std::string what = "activation " + quoted_name(name);
  const auto shape = full_shape(facts.shape);
  if (!is_known(facts.type) || !shape) return skip("size: the model does not tell the shape of " + what);
  if (!is_integer(facts.type) || bits_of(facts.type) > 16) {
    return skip("type: " + what + " is " + name_of(facts.type) + ", which is not drawn; a run of the model gives it");
  }
  if (const auto bytes = checked_bytes("", facts.type, *shape); !bytes) {
    return skip("size: " + what + " cannot be drawn: " + bytes.error().message);
  }
  if (elements_of(*shape) > max_elements) {
    return skip("size: " + what + " exceeds the limit of " + std::to_string(max_elements) + " elements to draw");
  }
  return random_bits(rng, facts.type, *shape);
}

// Returns what is implementation-defined in the case, for the note; an error says why the case is no test.
Result<std::string> implementation_defined_of(const Case& test_case) {
  if (const auto wired = check_wiring(test_case); !wired) return skip("operator: " + wired.error().text());
  const Classification classification = classify(test_case);
  if (const auto& violation = classification.contract.violation) {
    const std::string& rule = violation->rule;
    const bool is_computed = violation->message.find("is computed") != std::string::npos;
    const char* const at_fault = rule == "operator" ? "operator: "
                                 : is_computed      ? "computed parameter: "
                                 : rule == "signature" && violation->field.find("inputs") != std::string::npos
                                     ? "type: "
                                     : "attribute: ";
    return skip(at_fault + violation->text());
  }
  if (classification.value_is_open)
    return skip("implementation-defined: any value is right: " + classification.deciding_remark()->text());
  std::string note;
  for (const reference::Remark& remark : classification.contract.implementation_defined) {
    note += (note.empty() ? "" : "; ") + remark.text();
  }
  return note;
}

Result<void> add_nodes(const onnx::ModelProto& model, const ModelUnit& unit, Case& test_case) {
  test_case.nodes.clear();
  for (const std::size_t i : unit.nodes) {
    const onnx::NodeProto& proto = model.graph().node(static_cast<int>(i));
    QCONFORM_ASSIGN(Node node, node_from_proto(model, proto));
    node.inputs.assign(proto.input().begin(), proto.input().end());
    node.outputs.assign(proto.output().begin(), proto.output().end());
    test_case.nodes.push_back(std::move(node));
  }
  return {};
}

}  // namespace

std::vector<ModelUnit> units_of(const GraphScope& scope, std::size_t context) {
  const UnitFinder finder(scope);
  std::vector<ModelUnit> units;
  for (int i = 0; i < scope.graph().node_size(); ++i) {
    const onnx::NodeProto& node = scope.graph().node(i);
    if (!is_quantize(node) || node.input_size() == 0 || node.output_size() == 0 || !is_judged_in_graphs(node)) continue;
    if (auto unit = finder.unit_at(i, context)) units.push_back(std::move(*unit));
  }
  return units;
}

std::set<std::string> values_around(const std::vector<ModelUnit>& units) {
  std::set<std::string> names;
  for (const ModelUnit& unit : units) {
    names.insert(unit.fed.begin(), unit.fed.end());
    names.insert(unit.outputs.begin(), unit.outputs.end());
  }
  return names;
}

Result<std::variant<Case, SkippedNode>> case_from_unit(const onnx::ModelProto& model, const ModelUnit& unit,
                                                       const GraphScope& scope, const ExternalFolder& external,
                                                       const NamedTensors& computed, std::int64_t max_elements,
                                                       Rng& rng) {
  using Answer = std::variant<Case, SkippedNode>;
  Case result;
  if (const auto added = add_nodes(model, unit, result); !added) {
    return Answer(SkippedNode{"attribute: " + added.error().text()});
  }
  for (const std::string& name : unit.fed) {
    const auto value = computed.find(name);
    auto tensor =
        value != computed.end() ? Result<Tensor>(value->second) : drawn(name, scope.facts(name), max_elements, rng);
    if (!tensor) return Answer(SkippedNode{tensor.error().message});
    result.inputs.emplace_back(std::move(*tensor));
    result.input_names.push_back(name);
  }
  result.fed_inputs = result.inputs.size();
  std::set<std::string> held(unit.fed.begin(), unit.fed.end());
  for (const Node& node : result.nodes) {
    for (const std::string& name : node.inputs) {
      const onnx::TensorProto* constant = name.empty() ? nullptr : scope.constant(name);
      if (constant == nullptr || !held.insert(name).second) continue;
      QCONFORM_ASSIGN(auto tensor, tensor_from_proto(*constant, external));
      result.inputs.emplace_back(std::move(tensor));
      result.input_names.push_back(name);
    }
  }
  result.outputs = unit.outputs;
  for (const std::string& name : unit.outputs) {
    const auto value = computed.find(name);
    if (value != computed.end()) result.recorded_outputs.push_back(value->second);
  }
  if (result.recorded_outputs.size() != result.outputs.size()) result.recorded_outputs.clear();
  auto implementation_defined = implementation_defined_of(result);
  if (!implementation_defined) return Answer(SkippedNode{implementation_defined.error().message});
  result.note = std::move(*implementation_defined);
  return Answer(std::move(result));
}

}  // namespace qconform
