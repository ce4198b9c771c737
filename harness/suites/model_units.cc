#include "harness/suites/model_nodes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
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
#include "harness/suites/model_sample.h"
#include "reference/numerics/floats.h"

namespace qconform {
namespace {

// Nodes in front of a Q, in a model that is quantized in part only.
constexpr std::size_t kMostUnitNodes = 24;

bool is_judged_in_graphs(const onnx::NodeProto& node) {
  return lowering::find_node_operator(node.op_type(), kNewestOpset, node.domain()) != nullptr;
}

bool is_dequantize(const onnx::NodeProto& node) {
  return node.op_type() == "DequantizeLinear";
}
bool is_quantize(const onnx::NodeProto& node) {
  return node.op_type() == "QuantizeLinear";
}
bool is_dynamic(const onnx::NodeProto& node) {
  return node.op_type() == "DynamicQuantizeLinear";
}

// Operators by which runtimes go on from sums to results.
bool scales_or_shifts(const onnx::NodeProto& node) {
  static const std::set<std::string> names{"Add", "Cast", "Clip", "Div", "Mul", "Relu", "Sub"};
  return names.contains(node.op_type());
}

class UnitFinder {
 public:
  UnitFinder(const GraphScope& scope, std::size_t first_node, std::set<std::size_t> refused = {})
      : scope_(scope), graph_(scope.graph()), first_node_(first_node), refused_(std::move(refused)) {
    for (int i = 0; i < graph_.node_size(); ++i) {
      for (const std::string& name : graph_.node(i).output()) producer_[name] = i;
      for (const std::string_view name : names_read_by(graph_.node(i))) readers_[std::string(name)].push_back(i);
    }
    for (const onnx::ValueInfoProto& output : graph_.output()) readers_[output.name()].push_back(kOutside);
  }

  // Nothing where a Q quantizes what no node of a known operator computes from dequantized data.
  [[nodiscard]] std::optional<ModelUnit> quantized_at(int quantize, std::size_t context) const {
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
    return with_context(quantize, quantize, compute, std::move(nodes), context);
  }

  // The node, what quantizes or dequantizes its operands, and what scales its result.
  [[nodiscard]] std::optional<ModelUnit> around(int anchor, std::size_t context) const {
    if (!is_judged(anchor)) return std::nullopt;
    std::set<int> nodes{anchor};
    add_sources(anchor, nodes);
    int tail = anchor;
    int named = anchor;
    while (nodes.size() < kMostUnitNodes) {
      const auto next = next_behind(tail, nodes);
      if (!next) break;
      if (dequantizes(tail)) named = *next;
      nodes.insert(*next);
      add_sources(*next, nodes);
      add_derived(*next, nodes);
      tail = *next;
      if (is_quantize(graph_.node(tail))) break;
    }
    return with_context(anchor, tail, named, std::move(nodes), context);
  }

  [[nodiscard]] bool is_judged(int node) const {
    return is_judged_in_graphs(graph_.node(node)) && !refused_.contains(static_cast<std::size_t>(node));
  }

 private:
  static constexpr int kOutside = -1;

  // The node that computes a value while the model runs, if graphs are judged with it; -1 otherwise. Shapes and indices
  // are what they were in the run.
  [[nodiscard]] int producer_of(const std::string& value) const {
    const auto found = producer_.find(value);
    if (found == producer_.end() || scope_.constant(value) != nullptr) return -1;
    if (scope_.facts(value).type == ElementType::int64) return -1;
    return is_judged(found->second) ? found->second : -1;
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

  // The only node that goes on from the unit's last one, if it scales or shifts the result by what is known, or
  // computes from what was dequantized.
  [[nodiscard]] std::optional<int> next_behind(int tail, const std::set<int>& nodes) const {
    std::set<int> readers;
    for (const std::string& name : graph_.node(tail).output()) {
      const auto found = readers_.find(name);
      if (found != readers_.end()) readers.insert(found->second.begin(), found->second.end());
    }
    if (readers.size() != 1 || *readers.begin() == kOutside) return std::nullopt;
    const int next = *readers.begin();
    const onnx::NodeProto& node = graph_.node(next);
    if (!is_judged(next) || nodes.contains(next) || is_dynamic(node)) return std::nullopt;
    if (is_quantize(node)) return next;
    if (dequantizes(tail)) return is_quantized_node(node, scope_) ? std::nullopt : std::optional(next);
    const auto is_known = [&](const std::string& name) {
      return name.empty() || scope_.constant(name) != nullptr || is_computed_by(nodes, name) || is_derived(name, nodes);
    };
    if (!scales_or_shifts(node) || !std::all_of(node.input().begin(), node.input().end(), is_known))
      return std::nullopt;
    return next;
  }

  // Whether the node makes floats of quantized data: a DequantizeLinear, or the Casts and arithmetic that stand for one
  // where the data are constants.
  [[nodiscard]] bool dequantizes(int node) const {
    return is_dequantize(graph_.node(node)) || is_derived(graph_.node(node).output(0), {});
  }

  // Whether the value follows from constants and outputs of `nodes` alone: the product of two scales.
  [[nodiscard]] bool is_derived(const std::string& value, const std::set<int>& nodes, int depth = 0) const {
    const int node = producer_of(value);
    constexpr int kDeepest = 3;
    if (node < 0 || depth == kDeepest) return false;
    const auto& names = graph_.node(node).input();
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.empty() || scope_.constant(name) != nullptr || is_computed_by(nodes, name) ||
             is_derived(name, nodes, depth + 1);
    });
  }

  void add_derived(int reader, std::set<int>& nodes) const {
    for (const std::string& name : graph_.node(reader).input()) {
      const int node = producer_of(name);
      if (node < 0 || nodes.contains(node) || !is_derived(name, nodes)) continue;
      nodes.insert(node);
      add_derived(node, nodes);
    }
  }

  // Adds the nodes that quantize or dequantize what the node reads.
  void add_sources(int reader, std::set<int>& nodes) const {
    for (const std::string& name : graph_.node(reader).input()) {
      const int node = producer_of(name);
      if (node < 0) continue;
      if (is_dequantize(graph_.node(node)) || is_dynamic(graph_.node(node))) nodes.insert(node);
    }
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
          if (node == kOutside || added == count || !is_judged(node) || !is_read(node)) continue;
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

  [[nodiscard]] ModelUnit with_context(int anchor, int tail, int named, std::set<int> nodes,
                                       std::size_t context) const {
    add_before(nodes, context);
    add_behind(nodes, context);
    ModelUnit unit;
    const onnx::NodeProto& name_giver = graph_.node(named);
    unit.name = name_giver.name().empty() ? name_giver.op_type() : printable(name_giver.name());
    unit.anchor = static_cast<std::size_t>(anchor);
    unit.scope = &scope_;
    unit.first_node = first_node_;
    unit.nodes.assign(nodes.begin(), nodes.end());
    const auto note = [](std::vector<std::string>& names, const std::string& name) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    note(unit.outputs, graph_.node(tail).output(0));
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
  std::size_t first_node_;
  std::set<std::size_t> refused_;
  std::map<std::string, int> producer_;
  std::map<std::string, std::vector<int>> readers_;
};

// Half of all: what DynamicQuantizeLinear quantizes without rounding, (q - zero point) * 2^e with q from 0 to 255.
// Otherwise any floats of a few magnitudes.
Tensor drawn_floats(ElementType type, std::vector<std::int64_t> shape, Rng& rng) {
  const bool is_exact = rng.chance(1, 2);
  const auto exponent = static_cast<int>(rng.between(-7, -3));
  const std::int64_t zero_point = rng.between(0, 255);
  Tensor result{type, std::move(shape), {}};
  const std::int64_t count = result.elements();
  result.bytes.resize(static_cast<std::size_t>(bytes_for(type, count)));
  const auto& format = reference::float_format(type);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t code = i < 2 ? 255 * i : rng.between(0, 255);
    const double value = is_exact ? std::ldexp(static_cast<double>(code - zero_point), exponent)
                                  : std::ldexp(static_cast<double>(rng.between(-(1 << 20), 1 << 20)), -18);
    set_raw_bits_at(result.bytes, bits_of(type), i, reference::encode(format, value, reference::Overflow::saturate));
  }
  return result;
}

// Data that the model does not hold and has not computed; an error says why they cannot be drawn.
Result<Tensor> drawn(const std::string& name, const ValueFacts& facts, std::int64_t max_elements, Rng& rng) {
  const std::string what = "activation " + quoted_name(name);
  const auto shape = full_shape(facts.shape);
  if (!is_known(facts.type) || !shape) return skip("size: the model does not tell the shape of " + what);
  const bool is_real = facts.type == ElementType::float32 || is_16bit_float(facts.type);
  if (!is_real && (!is_integer(facts.type) || bits_of(facts.type) > 16)) {
    return skip("type: " + what + " is " + name_of(facts.type) + ", which is not drawn; a run of the model gives it");
  }
  if (const auto bytes = checked_bytes("", facts.type, *shape); !bytes) {
    return skip("size: " + what + " cannot be drawn: " + bytes.error().message);
  }
  if (elements_of(*shape) > max_elements) {
    return skip("size: " + what + " exceeds the limit of " + std::to_string(max_elements) + " elements to draw");
  }
  return is_real ? drawn_floats(facts.type, *shape, rng) : random_bits(rng, facts.type, *shape);
}

// The node that a remark on a graph is about: "nodes[2].pads".
std::optional<std::size_t> node_of(const std::string& field) {
  constexpr std::string_view kPrefix = "nodes[";
  if (!field.starts_with(kPrefix)) return std::nullopt;
  return static_cast<std::size_t>(std::strtoull(field.c_str() + kPrefix.size(), nullptr, 10));
}

/// Says what is implementation-defined in a case, for the note; or why it is no test.
struct UnitOpinion {
  std::string note{};
  std::optional<SkippedNode> skipped{};
};

UnitOpinion opinion_on(const Case& test_case) {
  const auto no_test = [](std::string reason, std::optional<std::size_t> node = {}) {
    return UnitOpinion{.skipped = SkippedNode{std::move(reason), node}};
  };
  if (const auto wired = check_wiring(test_case); !wired) return no_test("operator: " + wired.error().text());
  const Classification classification = classify(test_case);
  if (const auto& violation = classification.contract.violation) {
    const std::string& rule = violation->rule;
    const bool is_computed = violation->message.find("is computed") != std::string::npos;
    const bool is_large = violation->message.find("the graph have more than") != std::string::npos;
    const char* const at_fault = rule == "operator" ? "operator: "
                                 : is_computed      ? "computed parameter: "
                                 : is_large         ? "size: "
                                 : rule == "signature" && violation->field.find("inputs") != std::string::npos
                                     ? "type: "
                                     : "attribute: ";
    return no_test(at_fault + violation->text(), node_of(violation->field));
  }
  if (classification.value_is_open) {
    return no_test("implementation-defined: any value is right: " + classification.deciding_remark()->text());
  }
  std::string note;
  for (const reference::Remark& remark : classification.contract.implementation_defined) {
    note += (note.empty() ? "" : "; ") + remark.text();
  }
  return {.note = std::move(note)};
}

Result<void> add_nodes(const onnx::ModelProto& model, const ModelUnit& unit, Case& test_case) {
  test_case.nodes.clear();
  for (const std::size_t i : unit.nodes) {
    const onnx::NodeProto& proto = unit.scope->graph().node(static_cast<int>(i));
    QCONFORM_ASSIGN(Node node, node_from_proto(model, proto));
    node.inputs.assign(proto.input().begin(), proto.input().end());
    node.outputs.assign(proto.output().begin(), proto.output().end());
    test_case.nodes.push_back(std::move(node));
  }
  return {};
}

}  // namespace

std::vector<std::size_t> ModelUnit::positions() const {
  std::vector<std::size_t> result = nodes;
  for (std::size_t& position : result) position += first_node;
  return result;
}

namespace {

bool is_constant_node(const onnx::NodeProto& node, const GraphScope& scope) {
  return std::all_of(node.output().begin(), node.output().end(),
                     [&](const std::string& name) { return name.empty() || scope.constant(name) != nullptr; });
}

// Whether a case of the node alone is made (case_from_model_node).
bool is_single_case(const onnx::NodeProto& node) {
  return find_operator(node.domain(), node.op_type()) != nullptr;
}

// Adds the units of one graph. What a unit of a QuantizeLinear holds needs no other.
void add_units(const GraphScope& scope, std::size_t first_node, std::size_t context, std::vector<ModelUnit>& units) {
  const UnitFinder finder(scope, first_node);
  std::set<std::size_t> covered;
  const auto add = [&](std::optional<ModelUnit> unit) {
    if (!unit) return;
    const bool is_left_to_single =
        unit->nodes.size() == 1 && is_single_case(scope.graph().node(static_cast<int>(unit->anchor)));
    if (is_left_to_single) return;
    covered.insert(unit->nodes.begin(), unit->nodes.end());
    units.push_back(std::move(*unit));
  };
  const int count = scope.graph().node_size();
  for (int i = 0; i < count; ++i) {
    const onnx::NodeProto& node = scope.graph().node(i);
    if (!is_quantize(node) || node.input_size() == 0 || node.output_size() == 0 || !finder.is_judged(i)) continue;
    add(finder.quantized_at(i, context));
  }
  // Nodes that quantize and dequantize belong to those that compute: they come last.
  for (const bool is_last : {false, true}) {
    for (int i = 0; i < count; ++i) {
      const onnx::NodeProto& node = scope.graph().node(i);
      if ((is_dynamic(node) || is_dequantize(node)) != is_last || covered.contains(static_cast<std::size_t>(i)))
        continue;
      if (node.output_size() == 0 || !is_quantized_node(node, scope) || is_constant_node(node, scope)) continue;
      // A node that is a case by itself goes with others only if it begins a unit.
      const bool begins = is_last || node.op_type() == "ConvInteger";
      if (is_single_case(node) && !begins) continue;
      add(finder.around(i, context));
    }
  }
  std::sort(units.begin(), units.end(),
            [](const ModelUnit& a, const ModelUnit& b) { return a.first_node + a.anchor < b.first_node + b.anchor; });
}

void walk_units(const GraphScope& scope, std::size_t& position, std::size_t context, std::vector<ModelUnit>& units) {
  std::vector<ModelUnit> own;
  add_units(scope, position, context, own);
  units.insert(units.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  position += static_cast<std::size_t>(scope.graph().node_size());
  for (const auto& body : scope.bodies()) walk_units(*body, position, context, units);
}

}  // namespace

std::vector<ModelUnit> units_of(const GraphScope& scope, std::size_t context) {
  std::vector<ModelUnit> units;
  std::size_t position = 0;
  walk_units(scope, position, context, units);
  return units;
}

std::optional<ModelUnit> unit_without(const ModelUnit& unit, const std::set<std::size_t>& refused,
                                      std::size_t context) {
  const UnitFinder finder(*unit.scope, unit.first_node, refused);
  const auto anchor = static_cast<int>(unit.anchor);
  if (!finder.is_judged(anchor)) return std::nullopt;
  const onnx::NodeProto& node = unit.scope->graph().node(anchor);
  return is_quantize(node) ? finder.quantized_at(anchor, context) : finder.around(anchor, context);
}

std::set<std::string> values_around(const std::vector<ModelUnit>& units) {
  std::set<std::string> names;
  for (const ModelUnit& unit : units) {
    names.insert(unit.fed.begin(), unit.fed.end());
    names.insert(unit.outputs.begin(), unit.outputs.end());
  }
  return names;
}

std::set<std::string> values_within(const std::vector<ModelUnit>& units) {
  std::set<std::string> names;
  for (const ModelUnit& unit : units) {
    for (const std::size_t node : unit.nodes) {
      const auto& outputs = unit.scope->graph().node(static_cast<int>(node)).output();
      names.insert(outputs.begin(), outputs.end());
    }
  }
  for (const std::string& name : values_around(units)) names.erase(name);
  return names;
}

Result<std::variant<Case, SkippedNode>> case_from_unit(const onnx::ModelProto& model, const ModelUnit& unit,
                                                       const ExternalFolder& external, const NamedTensors& computed,
                                                       const UnitBounds& bounds, Rng& rng) {
  using Answer = std::variant<Case, SkippedNode>;
  const GraphScope& scope = *unit.scope;
  Case result;
  if (const auto added = add_nodes(model, unit, result); !added) {
    return Answer(SkippedNode{"attribute: " + added.error().text()});
  }
  for (const std::string& name : unit.fed) {
    const auto value = computed.find(name);
    auto tensor =
        value != computed.end() ? Result<Tensor>(value->second) : drawn(name, scope.facts(name), bounds.drawn, rng);
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
  result = sampled(std::move(result), bounds.judged, rng);
  UnitOpinion opinion = opinion_on(result);
  if (opinion.skipped) return Answer(std::move(*opinion.skipped));
  if (!opinion.note.empty()) result.note += (result.note.empty() ? "" : "; ") + opinion.note;
  return Answer(std::move(result));
}

}  // namespace qconform
