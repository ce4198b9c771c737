#include "fuzz/graph_walk.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "harness/graphs/node_lowering.h"
#include "harness/model/draws/draws.h"
#include "harness/model/mutate/case_mutator.h"

namespace qconform::fuzz {
namespace {

std::size_t position(Rng& rng, std::size_t count) {
  return rng.below(static_cast<std::uint32_t>(count));
}

template <typename Items>
auto& any_of(Rng& rng, Items& items) {
  return items[position(rng, items.size())];
}

ElementType any_type(Rng& rng) {
  using enum ElementType;
  if (rng.chance(1, 3)) return rng.pick({boolean, float32, uint8, int8, int32, int64});
  for (;;) {
    const auto type = static_cast<ElementType>(rng.between(1, 26));
    if (is_known(type)) return type;
  }
}

std::vector<std::int64_t> any_shape(Rng& rng) {
  std::vector<std::int64_t> shape(rng.below(5));
  for (std::int64_t& extent : shape) extent = rng.pick({0, 1, 1, 2, 2, 3, 4});
  return shape;
}

Tensor any_tensor(Rng& rng, ElementType type, std::vector<std::int64_t> shape) {
  Tensor tensor = random_bits(rng, type, std::move(shape));
  if (type == ElementType::boolean) {
    for (std::byte& byte : tensor.bytes) byte &= std::byte{1};
  }
  return tensor;
}

std::vector<std::string> values_of(const Case& graph) {
  std::vector<std::string> names = graph.input_names;
  for (const Node& node : graph.nodes) names.insert(names.end(), node.outputs.begin(), node.outputs.end());
  return names;
}

std::string any_value(const Case& graph, Rng& rng) {
  const std::vector<std::string> names = values_of(graph);
  return names.empty() || rng.chance(1, 16) ? rng.pick({"", "nobody"}) : names[position(rng, names.size())];
}

std::string new_value(const Case& graph) {
  return "new" + std::to_string(values_of(graph).size());
}

// Tensors.

void change_type(Case& graph, Rng& rng) {
  Tensor& tensor = *any_of(rng, graph.inputs);
  const ElementType type = any_type(rng);
  tensor = is_numeric(tensor.type) && is_numeric(type) && rng.chance(1, 2) ? converted(tensor, type)
                                                                           : any_tensor(rng, type, tensor.shape);
}

void change_shape(Case& graph, Rng& rng) {
  Tensor& tensor = *any_of(rng, graph.inputs);
  std::vector<std::int64_t> shape = tensor.shape;
  switch (rng.below(5)) {
    case 0: shape = any_shape(rng); break;
    case 1: shape.clear(); break;
    case 2:
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(position(rng, shape.size() + 1)), rng.pick({0, 1}));
      break;
    case 3:
      if (!shape.empty()) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(position(rng, shape.size())));
      break;
    default:
      if (!shape.empty()) any_of(rng, shape) = rng.pick({0, 1, 2, 5});
  }
  if (Tensor::zeros(ElementType::uint8, shape).bytes.size() > 4096) return;
  tensor = any_tensor(rng, tensor.type, std::move(shape));
}

// Every axis of one length becomes 0, so that the graph may stay within the contract.
void empty_an_axis(Case& graph, Rng& rng) {
  const std::vector<std::int64_t> shape = any_of(rng, graph.inputs)->shape;
  if (shape.empty()) return;
  const std::int64_t length = shape[position(rng, shape.size())];
  for (auto& input : graph.inputs) {
    std::vector<std::int64_t> emptied = input->shape;
    std::replace(emptied.begin(), emptied.end(), length, std::int64_t{0});
    if (emptied != input->shape && rng.chance(3, 4)) input = Tensor::zeros(input->type, std::move(emptied));
  }
}

void change_elements(Case& graph, Rng& rng) {
  Tensor& tensor = *any_of(rng, graph.inputs);
  if (is_numeric(tensor.type) && rng.chance(1, 4)) {
    if (tensor.elements() > 0) change_scales(rng, tensor, true);
  } else {
    change_values(rng, tensor);
  }
}

void add_tensor(Case& graph, Rng& rng) {
  const auto type = rng.chance(1, 2) ? ElementType::boolean : any_type(rng);
  const bool is_fed = rng.chance(1, 4);
  const std::size_t at = is_fed ? graph.fed_inputs : graph.inputs.size();
  graph.input_names.insert(graph.input_names.begin() + static_cast<std::ptrdiff_t>(at), new_value(graph));
  graph.inputs.insert(graph.inputs.begin() + static_cast<std::ptrdiff_t>(at), any_tensor(rng, type, any_shape(rng)));
  graph.fed_inputs += is_fed ? 1 : 0;
}

void change_fed(Case& graph, Rng& rng) {
  graph.fed_inputs = rng.below(static_cast<std::uint32_t>(graph.inputs.size() + 1));
}

// Edges.

void change_input(Case& graph, Rng& rng) {
  Node& node = any_of(rng, graph.nodes);
  if (node.inputs.empty() || rng.chance(1, 6)) return node.inputs.push_back(any_value(graph, rng));
  if (rng.chance(1, 5)) return node.inputs.pop_back();
  any_of(rng, node.inputs) = any_value(graph, rng);
}

void change_output(Case& graph, Rng& rng) {
  Node& node = any_of(rng, graph.nodes);
  if (rng.chance(1, 2)) return node.outputs.push_back(rng.chance(1, 4) ? any_value(graph, rng) : new_value(graph));
  any_of(rng, node.outputs) = any_value(graph, rng);
}

void change_outputs(Case& graph, Rng& rng) {
  std::vector<std::string> computed;
  for (const Node& node : graph.nodes) computed.insert(computed.end(), node.outputs.begin(), node.outputs.end());
  switch (rng.below(5)) {
    case 0: graph.outputs = std::move(computed); break;
    case 1: rng.shuffle(graph.outputs); break;
    case 2: graph.outputs.push_back(any_value(graph, rng)); break;
    case 3:
      if (graph.outputs.size() > 1) graph.outputs.erase(graph.outputs.begin());
      break;
    default:
      rng.shuffle(computed);
      computed.resize(std::min<std::size_t>(computed.size(), 1 + rng.below(3)));
      graph.outputs = std::move(computed);
  }
}

// Nodes.

void swap_nodes(Case& graph, Rng& rng) {
  std::swap(any_of(rng, graph.nodes), any_of(rng, graph.nodes));
}

void drop_node(Case& graph, Rng& rng) {
  if (graph.nodes.size() < 2) return;
  graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(position(rng, graph.nodes.size())));
}

// Computes the same once more, for nobody or as a further output.
void double_node(Case& graph, Rng& rng) {
  const std::size_t at = position(rng, graph.nodes.size());
  Node copy = graph.nodes[at];
  const std::string name = new_value(graph);
  for (std::size_t i = 0; i < copy.outputs.size(); ++i) copy.outputs[i] = name + "." + std::to_string(i);
  if (rng.chance(1, 2)) graph.outputs.push_back(copy.outputs.front());
  graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(at + 1), std::move(copy));
}

const lowering::NodeOperator& any_operator(Rng& rng) {
  const auto all = lowering::all_node_operators();
  const auto some = all[position(rng, all.size())];
  return some[position(rng, some.size())];
}

void change_operator(Case& graph, Rng& rng) {
  Node& node = any_of(rng, graph.nodes);
  const lowering::NodeOperator& known = any_operator(rng);
  switch (rng.below(8)) {
    case 0: node.domain = rng.pick({"", "ai.onnx", "com.microsoft", "nowhere"}); break;
    case 1: node.op_type = rng.pick({"", "Nothing", "Loop"}); break;
    case 2:
      for (Node& each : graph.nodes) each.opset_version = rng.chance(1, 8) ? rng.between(-1, 99) : known.since;
      break;
    default: node.op_type = known.name; node.domain = known.domain;
  }
}

// A node of its own that reads what is there, with as many inputs as its operator takes.
void add_node(Case& graph, Rng& rng) {
  const lowering::NodeOperator& known = any_operator(rng);
  Node node{.op_type = std::string(known.name),
            .domain = std::string(known.domain),
            .opset_version = graph.nodes.front().opset_version,
            .attributes = {}};
  for (std::size_t i = 0; i < std::min<std::size_t>(known.least_inputs, 8); ++i) {
    node.inputs.push_back(any_value(graph, rng));
  }
  node.outputs.push_back(new_value(graph));
  if (rng.chance(2, 3)) graph.outputs.push_back(node.outputs.front());
  graph.nodes.push_back(std::move(node));
}

std::int64_t any_integer(Rng& rng) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  return rng.chance(1, 6) ? rng.pick({kMost, -kMost - 1, std::int64_t{1} << 31}) : rng.between(-3, 5);
}

Attribute::Value any_attribute(Rng& rng) {
  std::vector<std::int64_t> integers(rng.below(5));
  for (std::int64_t& integer : integers) integer = any_integer(rng);
  switch (rng.below(6)) {
    case 0: return any_integer(rng);
    case 1: return rng.pick({0.0F, 1.0F, -1.0F, std::numeric_limits<float>::infinity(), 1e-45F});
    case 2: return std::string(rng.pick({"", "NOTSET", "SAME_UPPER", "linear", "edge"}));
    case 3: return std::vector<float>(integers.begin(), integers.end());
    case 4: return std::vector<std::string>(integers.size(), rng.pick({"Sigmoid", "tanh", "Relu", "Softplus", ""}));
    default: return integers;
  }
}

void change_attribute(Case& graph, Rng& rng) {
  Node& node = any_of(rng, graph.nodes);
  const auto known = any_operator(rng).attributes;
  if (node.attributes.empty() || rng.chance(1, 3)) {
    std::string name = known.empty() ? "axis" : std::string(known[position(rng, known.size())].name);
    return node.attributes.push_back({std::move(name), any_attribute(rng)});
  }
  Attribute& changed = any_of(rng, node.attributes);
  if (rng.chance(1, 4)) {
    std::erase(node.attributes, Attribute(changed));
  } else if (auto* list = std::get_if<std::vector<std::int64_t>>(&changed.value);
             list != nullptr && !list->empty() && rng.chance(2, 3)) {
    any_of(rng, *list) = any_integer(rng);
  } else if (std::holds_alternative<std::int64_t>(changed.value) && rng.chance(2, 3)) {
    changed.value = any_integer(rng);
  } else {
    changed.value = any_attribute(rng);
  }
}

void change_recorded(Case& graph, Rng& rng) {
  graph.recorded_outputs.clear();
  const std::size_t count = rng.chance(3, 4) ? graph.outputs.size() : rng.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    graph.recorded_outputs.push_back(any_tensor(rng, any_type(rng), any_shape(rng)));
  }
}

}  // namespace

void damage_graph(Case& graph, Rng& rng) {
  using Step = void (*)(Case&, Rng&);
  static constexpr Step kOfTensors[] = {change_type, change_shape, empty_an_axis, change_elements};
  static constexpr Step kOfNodes[] = {add_tensor,     change_fed,       change_input,   change_output, change_outputs,
                                      change_outputs, swap_nodes,       drop_node,      double_node,   change_operator,
                                      add_node,       change_attribute, change_recorded};
  const std::uint64_t steps = 1 + rng.below(4);
  for (std::uint64_t i = 0; i < steps; ++i) {
    const bool of_tensors = !graph.inputs.empty() && rng.chance(2, 5);
    (of_tensors ? rng.pick(kOfTensors) : rng.pick(kOfNodes))(graph, rng);
  }
}

}  // namespace qconform::fuzz
