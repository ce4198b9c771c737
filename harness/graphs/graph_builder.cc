#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "harness/graphs/case_graph.h"
#include "harness/graphs/node_lowering.h"
#include "reference/graph/evaluation.h"

namespace qconform {

std::string GraphBuilder::input(Tensor tensor) {
  return fed_.emplace_back(Named{"x" + std::to_string(next_++), std::move(tensor)}).name;
}

std::string GraphBuilder::initializer(Tensor tensor) {
  return initializers_.emplace_back(Named{"c" + std::to_string(next_++), std::move(tensor)}).name;
}

std::vector<std::string> GraphBuilder::nodes(std::string op_type, std::vector<std::string> inputs, std::size_t outputs,
                                             std::vector<Attribute> attributes, std::string domain) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back("v" + std::to_string(next_++));
  const std::int64_t version = domain.empty() ? opset_version_ : 1;
  nodes_.push_back({std::move(op_type), std::move(domain), version, std::move(attributes), std::move(inputs), names});
  return names;
}

std::string GraphBuilder::node(std::string op_type, std::vector<std::string> inputs, std::vector<Attribute> attributes,
                               std::string domain) {
  return nodes(std::move(op_type), std::move(inputs), 1, std::move(attributes), std::move(domain)).front();
}

void GraphBuilder::keep(std::size_t nodes, std::size_t initializers) {
  nodes_.resize(nodes);
  initializers_.erase(initializers_.begin() + static_cast<std::ptrdiff_t>(initializers), initializers_.end());
}

Case GraphBuilder::build(std::vector<std::string> outputs) const {
  std::set<std::string> read;
  for (const Node& node : nodes_) read.insert(node.inputs.begin(), node.inputs.end());
  Case result;
  result.nodes = nodes_;
  for (const Named& fed : fed_) {
    result.input_names.push_back(fed.name);
    result.inputs.emplace_back(fed.tensor);
  }
  result.fed_inputs = fed_.size();
  for (const Named& initializer : initializers_) {
    if (!read.contains(initializer.name)) continue;
    result.input_names.push_back(initializer.name);
    result.inputs.emplace_back(initializer.tensor);
  }
  result.outputs = std::move(outputs);
  return result;
}

namespace graph = reference::graph;

// The case so far, whose tensors and names the lowering refers to: room for all of them is reserved.
struct GrowingGraph::State {
  struct GraphEntry {
    enum class Kind : std::uint8_t { fed, initializer, node };
    Kind kind;
    std::string name;  // the tensor's name, or that of the node's first output
    lowering::ProgramBuilder::Mark before;
  };

  State(std::size_t most_tensors, std::size_t most_nodes)
      : tensors(most_tensors), nodes(most_nodes), builder(test_case, contract) {
    test_case.nodes.clear();
    test_case.nodes.reserve(nodes);
    test_case.inputs.reserve(tensors);
    test_case.input_names.reserve(tensors);
    builder.reserve(tensors + 4 * nodes, nodes);
  }

  // Whether all of it fits without moving anything.
  [[nodiscard]] bool has_room(const GraphBuilder& all) const {
    std::size_t outputs = 0;
    for (const Node& node : all.added_nodes()) outputs += node.outputs.size();
    return all.tensor_count() <= tensors && all.node_count() <= nodes && outputs <= 4 * nodes;
  }

  // Forgets what the builder has taken back, and what came after it.
  void cut_to(const GraphBuilder& all) {
    std::array<std::size_t, 3> counts{};
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const GraphEntry& entry = entries[i];
      const std::size_t position = counts[static_cast<std::size_t>(entry.kind)]++;
      if (is_there(all, entry, position)) continue;
      return cut(i);
    }
  }

  static bool is_there(const GraphBuilder& all, const GraphEntry& entry, std::size_t position) {
    const auto is_named = [&](const std::vector<GraphBuilder::Named>& list) {
      return position < list.size() && list[position].name == entry.name;
    };
    if (entry.kind == GraphEntry::Kind::fed) return is_named(all.fed());
    if (entry.kind == GraphEntry::Kind::initializer) return is_named(all.initializers());
    return position < all.node_count() && all.added_nodes()[position].outputs.front() == entry.name;
  }

  void cut(std::size_t first) {
    const lowering::ProgramBuilder::Mark before = entries[first].before;
    builder.go_back(before);
    for (auto& [tier, bounds] : growing) bounds.cut(before.values, before.steps);
    const auto later = std::span(entries).subspan(first);
    const auto later_nodes = static_cast<std::size_t>(std::count_if(
        later.begin(), later.end(), [](const GraphEntry& entry) { return entry.kind == GraphEntry::Kind::node; }));
    const std::size_t later_tensors = later.size() - later_nodes;
    test_case.nodes.resize(test_case.nodes.size() - later_nodes);
    test_case.inputs.resize(test_case.inputs.size() - later_tensors);
    test_case.input_names.resize(test_case.inputs.size());
    entries.resize(first);
  }

  [[nodiscard]] std::size_t count(GraphEntry::Kind kind) const {
    return static_cast<std::size_t>(
        std::count_if(entries.begin(), entries.end(), [&](const GraphEntry& entry) { return entry.kind == kind; }));
  }

  bool add(GraphEntry::Kind kind, const std::vector<GraphBuilder::Named>& list) {
    for (std::size_t i = count(kind); i < list.size(); ++i) {
      entries.push_back({kind, list[i].name, builder.mark()});
      test_case.input_names.push_back(list[i].name);
      test_case.inputs.emplace_back(list[i].tensor);
      if (builder.read_tensor(test_case.inputs.size() - 1)) continue;
      cut(entries.size() - 1);
      return false;
    }
    return true;
  }

  bool add_nodes(const std::vector<Node>& list) {
    for (std::size_t i = count(GraphEntry::Kind::node); i < list.size(); ++i) {
      entries.push_back({GraphEntry::Kind::node, list[i].outputs.front(), builder.mark()});
      test_case.nodes.push_back(list[i]);
      if (lowering::lower_node(builder, test_case.nodes[i], i, contract)) continue;
      cut(entries.size() - 1);
      return false;
    }
    return true;
  }

  std::size_t tensors;
  std::size_t nodes;
  Case test_case;
  reference::Contract contract;
  lowering::ProgramBuilder builder;
  std::vector<GraphEntry> entries;
  std::map<reference::Tier, graph::GrowingBounds> growing;
};

namespace {
constexpr std::size_t kFirstTensors = 64;
constexpr std::size_t kFirstNodes = 24;
}  // namespace

GrowingGraph::GrowingGraph() : state_(std::make_unique<State>(kFirstTensors, kFirstNodes)) {}
GrowingGraph::~GrowingGraph() = default;

bool GrowingGraph::follow(const GraphBuilder& builder) {
  while (!state_->has_room(builder)) state_ = std::make_unique<State>(2 * state_->tensors, 2 * state_->nodes);
  state_->cut_to(builder);
  const bool holds = state_->add(State::GraphEntry::Kind::fed, builder.fed()) &&
                     state_->add(State::GraphEntry::Kind::initializer, builder.initializers()) &&
                     state_->add_nodes(builder.added_nodes());
  return holds && state_->contract.implementation_defined.empty();
}

std::optional<graph::Shape> GrowingGraph::shape_of(const std::string& name) const {
  const graph::ValueId id = state_->builder.id_of(name);
  if (!state_->builder.is_exact(id)) return std::nullopt;
  return state_->builder.program().program.values[id].shape;
}

std::optional<graph::Bounds> GrowingGraph::bounds_of(const std::string& name, reference::Tier tier) {
  const graph::ValueId id = state_->builder.id_of(name);
  if (!state_->builder.is_exact(id)) return std::nullopt;
  return state_->growing.try_emplace(tier, tier).first->second.of(state_->builder.program().program, id);
}

}  // namespace qconform
