#include "harness/operators/graph/shrink.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <utility>

#include "harness/model/reductions/edits.h"
#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/graph.h"

namespace qconform::shrink {
namespace {

using Position = std::pair<std::size_t, std::size_t>;  // tensor, axis

bool is_graph(const Subject& subject) {
  return !subject.current().is_one_node();
}

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
  if (!is_graph(subject)) return;
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
  if (!is_graph(subject)) return;
  const Classification classification = classify(subject.current());
  const GraphProgram* lowered = classification.lowered ? graph_program_of(*classification.lowered) : nullptr;
  if (lowered == nullptr) return;
  const auto exact = reference::graph::bounds_of(lowered->program, reference::Tier::exact);
  const Case start = subject.current();
  for (std::size_t i = start.nodes.size(); i-- > 0;) {
    for (const std::string& value : start.nodes[i].outputs) {
      if (!is_graph(subject)) return;
      const auto found = std::find(lowered->names.begin(), lowered->names.end(), value);
      if (value.empty() || found == lowered->names.end() || subject.exhausted()) continue;
      const auto id = static_cast<std::size_t>(found - lowered->names.begin());
      subject.offer(
          fed_from(subject.current(), value, tensor_of(lowered->program.values[id], lowered->types[id], exact[id])));
    }
  }
}

// Puts a node's input in place of its output.
void no_node(Subject& subject) {
  if (!is_graph(subject)) return;
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
  if (!is_graph(subject)) return;
  for (std::size_t i = 0; i < subject.current().nodes.size(); ++i) {
    while (!subject.exhausted() && i < subject.current().nodes.size() && subject.current().nodes[i].inputs.size() > 1) {
      Case candidate = subject.current();
      candidate.nodes[i].inputs.pop_back();
      if (!subject.offer(pruned(std::move(candidate)))) break;
    }
  }
}

void no_node_attributes(Subject& subject) {
  if (!is_graph(subject)) return;
  for (std::size_t i = 0; i < subject.current().nodes.size(); ++i) {
    const std::vector<Attribute> attributes = subject.current().nodes[i].attributes;
    for (const Attribute& attribute : attributes) {
      if (i >= subject.current().nodes.size()) return;
      Case candidate = subject.current();
      std::erase(candidate.nodes[i].attributes, attribute);
      subject.offer(std::move(candidate));
    }
  }
}

Extent joint_extent(const Case& test_case, const std::vector<Position>& axes) {
  std::string name = "axes";
  for (const auto& [tensor, axis] : axes) name += " " + test_case.input_names[tensor] + "." + std::to_string(axis);
  std::vector<std::pair<std::string, std::size_t>> named;
  for (const auto& [tensor, axis] : axes) named.emplace_back(test_case.input_names[tensor], axis);
  const std::int64_t length = test_case.inputs[axes.front().first]->shape[axes.front().second];
  return {name, length, -1, [named](const Case& whole, const std::vector<std::int64_t>& keep) {
            Case result = whole;
            for (const auto& [tensor_name, axis] : named) {
              const auto at = std::find(result.input_names.begin(), result.input_names.end(), tensor_name);
              if (at == result.input_names.end()) continue;
              Tensor& tensor = *result.inputs[static_cast<std::size_t>(at - result.input_names.begin())];
              tensor = with_positions(tensor, axis, keep);
            }
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
      Reduction{Stage::element, "one output", one_output},
      Reduction{Stage::element, "an earlier output", earlier_output},
      Reduction{Stage::element, "a later input", later_input},
      Reduction{Stage::element, "fewer nodes", no_node},
      Reduction{Stage::indices, "no attributes of nodes", no_node_attributes},
      Reduction{Stage::dimensions, "no optional inputs of nodes", no_optional_node_inputs},
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
