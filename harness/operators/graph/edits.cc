#include "harness/operators/graph/edits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/graphs/case_graph.h"
#include "harness/model/reductions/reductions.h"
#include "harness/model/text.h"
#include "harness/operators/graph/graph.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform {

Case pruned(Case test_case) {
  std::set<std::string> needed(test_case.outputs.begin(), test_case.outputs.end());
  std::vector<Node> kept;
  for (std::size_t i = test_case.nodes.size(); i-- > 0;) {
    Node& node = test_case.nodes[i];
    const bool is_needed = std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](const std::string& name) { return needed.contains(name); });
    if (!is_needed) continue;
    needed.insert(node.inputs.begin(), node.inputs.end());
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  test_case.nodes = std::move(kept);
  std::vector<std::optional<Tensor>> inputs;
  std::vector<std::string> names;
  std::size_t fed = 0;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    if (!needed.contains(test_case.input_names[i])) continue;
    fed += i < test_case.fed_inputs ? 1 : 0;
    inputs.push_back(std::move(test_case.inputs[i]));
    names.push_back(std::move(test_case.input_names[i]));
  }
  test_case.inputs = std::move(inputs);
  test_case.input_names = std::move(names);
  test_case.fed_inputs = fed;
  std::erase_if(test_case.shown_outputs, [&](const std::string& name) { return !is_output(test_case, name); });
  if (test_case.shown_outputs.size() == test_case.outputs.size()) test_case.shown_outputs.clear();
  return in_own_order(std::move(test_case));
}

Case fed_from(const Case& test_case, const std::string& value, Tensor tensor) {
  Case result = test_case;
  for (Node& node : result.nodes) {
    const auto at = std::find(node.outputs.begin(), node.outputs.end(), value);
    if (at == node.outputs.end()) continue;
    // A node of several outputs goes on computing the others.
    *at = value + ".computed";
  }
  result.inputs.insert(result.inputs.begin(), std::move(tensor));
  result.input_names.insert(result.input_names.begin(), value);
  ++result.fed_inputs;
  return pruned(std::move(result));
}

Case rewired(Case test_case, std::string_view value, const std::string& other) {
  for (Node& node : test_case.nodes) std::replace(node.inputs.begin(), node.inputs.end(), std::string(value), other);
  std::replace(test_case.outputs.begin(), test_case.outputs.end(), std::string(value), other);
  return pruned(std::move(test_case));
}

std::uint64_t pattern_of(ElementType type, double number) {
  if (is_integer(type) || type == ElementType::boolean) {
    return reference::integer_pattern(type, reference::integer_or_zero(number));
  }
  if (type == ElementType::float64) return std::bit_cast<std::uint64_t>(number);
  return encode(reference::float_format(type), number, reference::Overflow::special);
}

Tensor tensor_of(const reference::graph::Value& value, ElementType type, const reference::graph::Bounds& exact) {
  Tensor tensor = Tensor::zeros(type, value.shape);
  for (std::size_t i = 0; i < exact.lo.size(); ++i) {
    const double number = exact.is_open(i) ? 0 : exact.lo[i];
    set_raw_bits_at(tensor.bytes, bits_of(type), static_cast<std::int64_t>(i), pattern_of(type, number));
  }
  return tensor;
}

std::optional<std::size_t> maker_of(const Case& test_case, std::string_view value) {
  for (std::size_t i = 0; i < test_case.nodes.size() && !value.empty(); ++i) {
    const auto& outputs = test_case.nodes[i].outputs;
    if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> maker_of(const Case& test_case, std::string_view value, std::string_view op_type) {
  const auto maker = maker_of(test_case, value);
  return maker && test_case.nodes[*maker].op_type == op_type ? maker : std::nullopt;
}

std::vector<std::size_t> readers_of(const Case& test_case, std::string_view value) {
  std::vector<std::size_t> readers;
  for (std::size_t i = 0; i < test_case.nodes.size(); ++i) {
    const auto& inputs = test_case.nodes[i].inputs;
    if (std::find(inputs.begin(), inputs.end(), value) != inputs.end()) readers.push_back(i);
  }
  return readers;
}

bool is_output(const Case& test_case, std::string_view value) {
  return std::find(test_case.outputs.begin(), test_case.outputs.end(), value) != test_case.outputs.end();
}

const Tensor* initializer_of(const Case& test_case, std::string_view value) {
  for (std::size_t i = test_case.fed_inputs; i < test_case.input_names.size(); ++i) {
    if (test_case.input_names[i] == value) return &*test_case.inputs[i];
  }
  return nullptr;
}

namespace {

std::string new_name(const Case& test_case) {
  for (std::size_t i = 0;; ++i) {
    std::string name = "r" + std::to_string(i);
    const auto& tensors = test_case.input_names;
    if (!maker_of(test_case, name) && std::find(tensors.begin(), tensors.end(), name) == tensors.end()) return name;
  }
}

}  // namespace

std::string add_initializer(Case& test_case, Tensor tensor) {
  test_case.input_names.push_back(new_name(test_case));
  test_case.inputs.emplace_back(std::move(tensor));
  return test_case.input_names.back();
}

std::string add_integers(Case& test_case, const std::vector<std::int64_t>& values) {
  return add_initializer(test_case, Tensor::of(ElementType::int64, {static_cast<std::int64_t>(values.size())}, values));
}

std::int64_t own_opset(const Case& test_case) {
  constexpr std::int64_t kWithAllTypes = 21;  // the first with int4
  for (const Node& node : test_case.nodes) {
    if (node.domain.empty() || node.domain == "ai.onnx") return node.opset_version;
  }
  return kWithAllTypes;
}

std::string add_node(Case& test_case, std::size_t before, std::string op_type, std::vector<std::string> inputs,
                     std::vector<Attribute> attributes) {
  std::string name = new_name(test_case);
  Node node{std::move(op_type), "", own_opset(test_case), std::move(attributes), std::move(inputs), {name}};
  test_case.nodes.insert(test_case.nodes.begin() + static_cast<std::ptrdiff_t>(before), std::move(node));
  return name;
}

std::string input_of(const Node& node, std::size_t position) {
  return position < node.inputs.size() ? node.inputs[position] : std::string();
}

void set_node_attribute(Node& node, std::string_view name, Attribute::Value value) {
  std::erase_if(node.attributes, [&](const Attribute& attribute) { return attribute.name == name; });
  node.attributes.push_back({std::string(name), std::move(value)});
}

}  // namespace qconform

namespace qconform::shrink {
namespace {

using Position = std::pair<std::size_t, std::size_t>;  // tensor, axis

// One of several outputs alone.
void one_output(Subject& subject) {
  const std::vector<std::string> outputs = subject.current().outputs;
  for (const std::string& output : outputs) {
    if (subject.current().outputs.size() < 2) return;
    Case candidate = subject.current();
    candidate.outputs = {output};
    if (subject.offer(pruned(std::move(candidate)))) return;
  }
}

// The first value that is wrong, in place of all behind it.
void earlier_output(Subject& subject) {
  std::vector<std::string> values;
  for (const Node& node : subject.current().nodes)
    values.insert(values.end(), node.outputs.begin(), node.outputs.end());
  for (const std::string& value : values) {
    if (value.empty() || subject.exhausted()) continue;
    Case candidate = subject.current();
    candidate.outputs = {value};
    if (subject.offer(pruned(std::move(candidate)))) return;
  }
}

// Feeds the values that the last nodes read, as the reference computes them, in place of all nodes before them.
void later_input(Subject& subject) {
  const Classification classification = classify(subject.current());
  const GraphProgram* lowered = classification.lowered ? graph_program_of(*classification.lowered) : nullptr;
  if (lowered == nullptr) return;
  const auto exact = reference::graph::bounds_of(lowered->program, reference::Tier::exact);
  const Case start = subject.current();
  for (std::size_t i = start.nodes.size(); i-- > 0;) {
    for (const std::string& value : start.nodes[i].outputs) {
      if (!maker_of(subject.current(), value)) continue;
      const auto found = std::find(lowered->names.begin(), lowered->names.end(), value);
      if (found == lowered->names.end() || subject.exhausted()) continue;
      const auto id = static_cast<std::size_t>(found - lowered->names.begin());
      subject.offer(
          fed_from(subject.current(), value, tensor_of(lowered->program.values[id], lowered->types[id], exact[id])));
    }
  }
}

// Puts a node's input in place of its output.
void no_node(Subject& subject) {
  for (std::size_t i = subject.current().nodes.size(); i-- > 0;) {
    if (i >= subject.current().nodes.size()) continue;
    const Node node = subject.current().nodes[i];
    if (node.outputs.size() != 1) continue;
    for (const std::string& input : node.inputs) {
      if (!input.empty() && subject.offer(rewired(subject.current(), node.outputs[0], input))) break;
    }
  }
  // A Q and the DQ behind it, together.
  for (std::size_t i = subject.current().nodes.size(); i-- > 0;) {
    if (i >= subject.current().nodes.size()) continue;
    const Case& current = subject.current();
    const Node& second = current.nodes[i];
    if (second.outputs.size() != 1 || second.inputs.empty()) continue;
    for (const Node& first : current.nodes) {
      if (first.outputs != std::vector<std::string>{second.inputs[0]} || first.inputs.empty()) continue;
      subject.offer(rewired(current, second.outputs[0], first.inputs[0]));
      break;
    }
  }
}

// Optional inputs from the last on: biases, zero points, bounds.
void no_optional_node_inputs(Subject& subject) {
  for (std::size_t i = 0; i < subject.current().nodes.size(); ++i) {
    while (!subject.exhausted() && i < subject.current().nodes.size() && subject.current().nodes[i].inputs.size() > 1) {
      Case candidate = subject.current();
      candidate.nodes[i].inputs.pop_back();
      if (!subject.offer(pruned(std::move(candidate)))) break;
    }
  }
}

// Names alone do not tell axes apart: a graph that breaks the rules may have one name twice.
Extent joint_extent(const Case& test_case, const std::vector<Position>& axes) {
  std::string name = "axes";
  for (const auto& [tensor, axis] : axes) name += " " + test_case.input_names[tensor] + "." + std::to_string(axis);
  const std::int64_t length = test_case.inputs[axes.front().first]->shape[axes.front().second];
  return {name, length, -1, [axes](const Case& whole, const std::vector<std::int64_t>& keep) {
            Case result = whole;
            for (const auto& [tensor, axis] : axes)
              result.inputs[tensor] = with_positions(*result.inputs[tensor], axis, keep);
            return result;
          }};
}

// Subsets of a few axes, the whole first: which of them belong together is not known.
std::vector<std::vector<Position>> subsets_of(const std::vector<Position>& axes) {
  constexpr std::size_t kMostAxes = 8;
  std::vector<std::vector<Position>> result{axes};
  const std::size_t count = std::min(axes.size(), kMostAxes);
  std::vector<unsigned> masks;
  for (unsigned mask = 1; mask < 1U << count; ++mask) masks.push_back(mask);
  std::stable_sort(masks.begin(), masks.end(),
                   [](unsigned a, unsigned b) { return std::popcount(a) > std::popcount(b); });
  for (const unsigned mask : masks) {
    if (std::popcount(mask) > 4 || std::popcount(mask) == static_cast<int>(axes.size())) continue;
    std::vector<Position> subset;
    for (std::size_t i = 0; i < count; ++i) {
      if ((mask >> i & 1U) != 0) subset.push_back(axes[i]);
    }
    result.push_back(std::move(subset));
  }
  return result;
}

}  // namespace

std::span<const Reduction> graph_reductions() {
  static constexpr std::array all{
      Reduction{ReductionStage::element, "one output", one_output},
      Reduction{ReductionStage::element, "an earlier output", earlier_output},
      Reduction{ReductionStage::element, "a later input", later_input},
      Reduction{ReductionStage::element, "fewer nodes", no_node},
      Reduction{ReductionStage::dimensions, "no optional inputs of nodes", no_optional_node_inputs},
  };
  return all;
}

std::vector<Extent> graph_extents(const Case& test_case, const std::vector<std::int64_t>& /*wrong_element*/) {
  std::map<std::int64_t, std::vector<Position>> by_length;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    if (!test_case.inputs[i] || test_case.inputs[i]->type == ElementType::int64) continue;
    const auto& shape = test_case.inputs[i]->shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] > 1) by_length[shape[axis]].emplace_back(i, axis);
    }
  }
  std::vector<Extent> result;
  for (const auto& [length, axes] : by_length) {
    for (const std::vector<Position>& subset : subsets_of(axes)) result.push_back(joint_extent(test_case, subset));
  }
  return result;
}

}  // namespace qconform::shrink
