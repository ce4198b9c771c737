// Metamorphic relations of quantized graphs: what an optimiser may not make of a difference in form.
#include "harness/operators/graph/graph.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/model/operator.h"
#include "harness/operators/graph/edits.h"

namespace qconform::relations {
namespace {

constexpr const char* kQuantize = "QuantizeLinear";
constexpr const char* kDequantize = "DequantizeLinear";

Applied all_the_same(std::vector<Case> derived) {
  return Derivation([derived = std::move(derived)](const Tensor&) { return Application{derived, {}, nullptr}; });
}

// Levels.

Applied at_other_levels(const RelationSubject& subject) {
  return Derivation([base = *subject.base](const Tensor&) {
    Application application{{base}, {}, nullptr};
    application.on_siblings = true;
    return application;
  });
}

// Forms of the model.

// An initializer as a node's constant, where a case can hold that: floats and int64, of one dimension at most.
std::optional<Attribute> constant_of(const Tensor& tensor) {
  if (tensor.shape.size() > 1 || tensor.elements() == 0) return {};
  const bool is_one = tensor.shape.empty();
  if (tensor.type == ElementType::float32) {
    const auto values = tensor.values<float>();
    if (is_one) return Attribute{"value_float", values[0]};
    return Attribute{"value_floats", values};
  }
  if (tensor.type != ElementType::int64) return {};
  const auto values = tensor.values<std::int64_t>();
  if (is_one) return Attribute{"value_int", values[0]};
  return Attribute{"value_ints", values};
}

// Every initializer by a node in front of all others. `node_for` adds it and returns its output; empty: none.
template <typename NodeFor>
std::optional<Case> with_nodes_for_initializers(const Case& base, const char* suffix, NodeFor node_for) {
  Case result = base;
  result.id += suffix;
  for (std::size_t i = base.fed_inputs; i < base.inputs.size(); ++i) {
    const std::string value = node_for(result, base.input_names[i], *base.inputs[i]);
    for (std::size_t n = 1; n < result.nodes.size() && !value.empty(); ++n) {
      std::replace(result.nodes[n].inputs.begin(), result.nodes[n].inputs.end(), base.input_names[i], value);
    }
  }
  if (result.nodes.size() == base.nodes.size()) return std::nullopt;
  return pruned(std::move(result));
}

Applied in_other_forms(const RelationSubject& subject) {
  constexpr std::int64_t kConstantsOfNumbers = 12;
  const Case& base = *subject.base;
  std::vector<Case> derived;
  const auto identities = with_nodes_for_initializers(
      base, "/identities",
      [](Case& graph, const std::string& name, const Tensor&) { return add_node(graph, 0, "Identity", {name}); });
  if (identities) derived.push_back(*identities);
  if (own_opset(base) >= kConstantsOfNumbers) {
    const auto constants =
        with_nodes_for_initializers(base, "/constants", [](Case& graph, const std::string&, const Tensor& tensor) {
          const auto constant = constant_of(tensor);
          return constant ? add_node(graph, 0, "Constant", {}, {*constant}) : std::string();
        });
    if (constants) derived.push_back(*constants);
  }
  if (base.fed_inputs < base.inputs.size()) {
    Case fed = base;
    fed.id += "/fed";
    fed.fed_inputs = fed.inputs.size();
    derived.push_back(std::move(fed));
  }
  if (derived.empty()) return NotApplicable{"it has no initializers"};
  return all_the_same(std::move(derived));
}

// Contexts.

// Every Q is an output too.
std::optional<Case> with_shown_integers(const Case& base) {
  Case result = base;
  result.id += "/shown";
  for (const Node& node : base.nodes) {
    if (node.op_type == kQuantize && !is_output(base, node.outputs[0])) result.outputs.push_back(node.outputs[0]);
  }
  if (result.outputs.size() == base.outputs.size()) return std::nullopt;
  return result;
}

std::vector<std::string> parameters_of(const Node& node) {
  return {node.inputs.begin() + 1, node.inputs.end()};
}

std::vector<std::string> reading(const std::string& value, const std::vector<std::string>& parameters) {
  std::vector<std::string> inputs{value};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  return inputs;
}

// The first output has a second reader: a DQ, which is an output too.
std::optional<Case> read_twice(const Case& base) {
  const auto q = maker_of(base, base.outputs.front(), kQuantize);
  if (!q || !base.nodes[*q].attributes.empty()) return std::nullopt;
  Case result = base;
  result.id += "/read twice";
  result.nodes.push_back({kDequantize,
                          "",
                          base.nodes[*q].opset_version,
                          {},
                          reading(base.outputs.front(), parameters_of(base.nodes[*q])),
                          {"read.twice"}});
  result.outputs.push_back("read.twice");
  return result;
}

// Changes the graph at each fed tensor that a DequantizeLinear alone reads; nothing where `change` changes none.
template <typename Change>
std::optional<Case> with_fed_data_changed(const Case& base, const char* suffix, Change change) {
  Case result = base;
  result.id += suffix;
  bool has_changed = false;
  for (std::size_t i = 0; i < base.fed_inputs; ++i) {
    const Tensor& x = *base.inputs[i];
    const auto readers = readers_of(result, base.input_names[i]);
    if (readers.size() != 1 || result.nodes[readers[0]].op_type != kDequantize || is_output(base, base.input_names[i]))
      continue;
    has_changed = change(result, readers[0], x) || has_changed;
  }
  if (!has_changed) return std::nullopt;
  return result;
}

// Puts a DQ and a Q with the same parameters in front of a DQ of integers of 8 bits with one scale: they change
// nothing.
bool put_pair_in_front(Case& graph, std::size_t dq, const Tensor& x) {
  const Tensor* scale = initializer_of(graph, graph.nodes[dq].inputs[1]);
  const bool is_byte = x.type == ElementType::uint8 || x.type == ElementType::int8;
  const bool has_type = graph.nodes[dq].inputs.size() > 2 || x.type == ElementType::uint8;
  if (!is_byte || !has_type || scale == nullptr || scale->elements() != 1 || scale->type != ElementType::float32)
    return false;
  if (!(float_at(*scale, 0) > 0)) return false;  // of no Q, rule C21
  const std::vector<std::string> parameters = parameters_of(graph.nodes[dq]);
  const std::string real = add_node(graph, dq, kDequantize, reading(graph.nodes[dq].inputs[0], parameters));
  const std::string integers = add_node(graph, dq + 1, kQuantize, reading(real, parameters));
  graph.nodes[dq + 2].inputs[0] = integers;
  return true;
}

// Puts nodes behind the DQ that together move nothing.
template <typename Add>
bool put_behind(Case& graph, std::size_t dq, Add add) {
  const std::string value = graph.nodes[dq].outputs[0];
  if (is_output(graph, value)) return false;
  std::vector<Node> before(graph.nodes.begin() + static_cast<std::ptrdiff_t>(dq) + 1, graph.nodes.end());
  graph.nodes.resize(dq + 1);
  const std::int64_t opset = graph.nodes[dq].opset_version;
  const std::string moved = value + ".moved";
  const std::string back = value + ".back";
  add(graph, opset, value, moved, back);
  for (Node& node : before) {
    std::replace(node.inputs.begin(), node.inputs.end(), value, back);
    graph.nodes.push_back(std::move(node));
  }
  return true;
}

bool turn_behind(Case& graph, std::size_t dq, const Tensor& x) {
  std::vector<std::int64_t> perm(x.shape.size());
  for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(perm.size() - 1 - i);
  if (perm.size() < 2) return false;
  return put_behind(graph, dq, [&](Case& into, std::int64_t opset, auto& value, auto& moved, auto& back) {
    into.nodes.push_back({"Transpose", "", opset, {{"perm", perm}}, {value}, {moved}});
    into.nodes.push_back({"Transpose", "", opset, {{"perm", perm}}, {moved}, {back}});
  });
}

bool reshape_behind(Case& graph, std::size_t dq, const Tensor& x) {
  if (x.shape.empty() || x.elements() == 0) return false;
  const std::string flat = add_integers(graph, {-1});
  const std::string whole = add_integers(graph, x.shape);
  return put_behind(graph, dq, [&](Case& into, std::int64_t opset, auto& value, auto& moved, auto& back) {
    into.nodes.push_back({"Reshape", "", opset, {}, {value, flat}, {moved}});
    into.nodes.push_back({"Reshape", "", opset, {}, {moved, whole}, {back}});
  });
}

bool slice_behind(Case& graph, std::size_t dq, const Tensor& x) {
  if (x.shape.empty() || x.elements() == 0) return false;
  const std::string begin = add_integers(graph, {0});
  const std::string end = add_integers(graph, {x.shape[0]});
  return put_behind(graph, dq, [&](Case& into, std::int64_t opset, auto& value, auto&, auto& back) {
    into.nodes.push_back({"Slice", "", opset, {}, {value, begin, end, begin}, {back}});
  });
}

// Sends the value that the first output's Q reads through two Reshapes.
std::optional<Case> with_result_reshaped(const Case& base) {
  const auto q = maker_of(base, base.outputs.front(), kQuantize);
  const Classification classification = q ? classify(base) : Classification();
  if (!classification.lowered) return std::nullopt;
  Case result = base;
  result.id += "/result reshaped";
  const std::string flat = add_integers(result, {-1});
  const std::string whole = add_integers(result, classification.lowered->output_shape());
  const std::string moved = add_node(result, *q, "Reshape", {result.nodes[*q].inputs[0], flat});
  const std::string back = add_node(result, *q + 1, "Reshape", {moved, whole});
  result.nodes[*q + 2].inputs[0] = back;
  return result;
}

Applied in_contexts(const RelationSubject& subject) {
  const Case& base = *subject.base;
  std::vector<Case> derived;
  for (auto& one :
       {with_shown_integers(base), read_twice(base), with_fed_data_changed(base, "/behind a pair", put_pair_in_front),
        with_fed_data_changed(base, "/turned", turn_behind), with_fed_data_changed(base, "/reshaped", reshape_behind),
        with_fed_data_changed(base, "/sliced", slice_behind), with_result_reshaped(base)}) {
    if (one) derived.push_back(*one);
  }
  if (derived.empty()) return NotApplicable{"nothing can be put around it"};
  return all_the_same(std::move(derived));
}

// One unit as an operator of its own.

const Tensor* one_parameter(const Case& graph, const Node& node, std::size_t position) {
  return initializer_of(graph, input_of(node, position));
}

// DQ of x and w, and of a bias with their scales, a sum, and Q: what QLinearConv or QLinearMatMul computes. Its inputs
// by position; nothing where the graph is something else.
struct LinearUnit {
  const Node* sum = nullptr;
  const Node* x = nullptr;
  const Node* w = nullptr;
  const Node* b = nullptr;
  const Node* y = nullptr;
};
std::optional<LinearUnit> unit_of(const Case& graph) {
  LinearUnit unit;
  const auto node_of = [&](const std::string& value, std::string_view op_type) -> const Node* {
    const auto maker = maker_of(graph, value, op_type);
    return maker ? &graph.nodes[*maker] : nullptr;
  };
  unit.y = node_of(graph.outputs.front(), kQuantize);
  if (unit.y == nullptr || !unit.y->attributes.empty()) return {};
  for (const char* op_type : {"Conv", "MatMul"}) {
    if (unit.sum == nullptr) unit.sum = node_of(unit.y->inputs[0], op_type);
  }
  if (unit.sum == nullptr) return {};
  unit.x = node_of(unit.sum->inputs[0], kDequantize);
  unit.w = node_of(unit.sum->inputs[1], kDequantize);
  const bool has_bias = !input_of(*unit.sum, 2).empty();
  if (has_bias) unit.b = node_of(unit.sum->inputs[2], kDequantize);
  if (unit.x == nullptr || unit.w == nullptr || (has_bias && unit.b == nullptr)) return {};
  return graph.nodes.size() == (has_bias ? 5U : 4U) ? std::optional(unit) : std::nullopt;
}

std::optional<Tensor> tensor_named(const Case& graph, const std::string& name) {
  const auto at = std::find(graph.input_names.begin(), graph.input_names.end(), name);
  if (at == graph.input_names.end()) return {};
  return graph.inputs[static_cast<std::size_t>(at - graph.input_names.begin())];
}

bool has_scale_of_products(const Case& graph, const LinearUnit& unit) {
  const Tensor* sx = one_parameter(graph, *unit.x, 1);
  const Tensor* sw = one_parameter(graph, *unit.w, 1);
  const Tensor* sb = one_parameter(graph, *unit.b, 1);
  if (sx == nullptr || sw == nullptr || sb == nullptr || sx->elements() != 1) return false;
  if (sw->type != ElementType::float32 || sb->type != ElementType::float32 || sx->type != ElementType::float32)
    return false;
  for (std::int64_t i = 0; i < std::max(sw->elements(), sb->elements()); ++i) {
    const float own = float_at(*sb, sb->elements() == 1 ? 0 : i);
    const float of_w = float_at(*sw, sw->elements() == 1 ? 0 : i);
    if (static_cast<double>(own) != static_cast<double>(float_at(*sx, 0)) * static_cast<double>(of_w)) return false;
  }
  return true;
}

// Scale and zero point as QLinear operators want them; a zero point that is left out is 0.
std::optional<std::pair<Tensor, Tensor>> pair_of(const Case& graph, const Node& node, ElementType type) {
  const auto scale = tensor_named(graph, node.inputs[1]);
  const std::string name = input_of(node, 2);
  const auto stated = name.empty() ? std::nullopt : tensor_named(graph, name);
  if (!scale || scale->type != ElementType::float32) return {};
  return std::pair(*scale, stated ? *stated : Tensor::zeros(type, scale->shape));
}

Applied as_one_operator(const RelationSubject& subject) {
  static constexpr NotApplicable kNoUnit{"it is no convolution or product of matrices between DQs and Q alone"};
  const Case& base = *subject.base;
  const auto unit = base.outputs.size() == 1 ? unit_of(base) : std::nullopt;
  if (!unit || (unit->b != nullptr && !has_scale_of_products(base, *unit))) return kNoUnit;
  const bool is_convolution = unit->sum->op_type == "Conv";
  const std::string op_type = is_convolution ? "QLinearConv" : "QLinearMatMul";
  if (find_operator("", op_type) == nullptr) return kNoUnit;
  const auto x = tensor_named(base, unit->x->inputs[0]);
  const auto w = tensor_named(base, unit->w->inputs[0]);
  if (!x || !w) return kNoUnit;
  const auto of_x = pair_of(base, *unit->x, x->type);
  const auto of_w = pair_of(base, *unit->w, w->type);
  const auto of_y = pair_of(base, *unit->y, ElementType::uint8);
  if (!of_x || !of_w || !of_y) return kNoUnit;
  Case one;
  one.id = base.id + "/" + op_type;
  one.expectation = base.expectation;
  one.provenance = base.provenance;
  one.node() = {op_type, "", unit->sum->opset_version, unit->sum->attributes};
  for (const auto& tensor : {*x, of_x->first, of_x->second, *w, of_w->first, of_w->second, of_y->first, of_y->second})
    one.inputs.emplace_back(tensor);
  if (unit->b != nullptr) one.inputs.push_back(tensor_named(base, unit->b->inputs[0]));
  // The single operator takes less than a graph may have.
  if (classify(one).expectation() != Expectation::valid)
    return NotApplicable{"the single operator does not take its types or shapes"};
  return all_the_same({std::move(one)});
}

constexpr FamilyRelation kGraphRelations[] = {
    {{RelationTopic::graphs, "opt-level",
      "Every level of optimization gives the same y, and none refuses what another takes.",
      "An optimiser may choose among right answers alone.", true},
     "graphs",
     at_other_levels},
    {{RelationTopic::graphs, "model-form",
      "Initializers behind Identity, as Constant nodes or as inputs give the same y, and no form is refused alone.",
      "The numbers are the same.", true},
     "graphs",
     in_other_forms},
    {{RelationTopic::graphs, "context",
      "A second reader or output, a pair of DQ and Q in front, and nodes that move nothing leave y as it is.",
      "They change no number that y is computed from."},
     "graphs",
     in_contexts},
    {{RelationTopic::graphs, "qdq-vs-qlinear",
      "A convolution between DQs and Q is QLinearConv of the same parameters, a product of matrices QLinearMatMul.",
      "Both are the same formula in real numbers; a bias has the scale of the products."},
     "graphs",
     as_one_operator},
};

}  // namespace

std::span<const FamilyRelation> graph_relations() {
  return kGraphRelations;
}

}  // namespace qconform::relations
