#include "harness/onnx/graph_check.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "harness/base/text.h"
#include "harness/core/tensor.h"
#include "harness/onnx/protobuf_file.h"

namespace qconform {
namespace {

using Names = std::unordered_set<std::string_view>;
using Producers = std::unordered_map<std::string_view, int>;  // nodes by the names of their values

constexpr const char* kNoOnnx = "invalid ONNX: ";

std::string label_in(const onnx::GraphProto& graph, int node) {
  return label_of(graph.node(node), node);
}

// In nested bodies too, a name that the body does not define is one of the graphs around it.
void add_names_from_outside(const onnx::GraphProto& body, std::vector<std::string_view>& names) {
  Names defined;
  for (const onnx::ValueInfoProto& input : body.input()) defined.insert(input.name());
  for (const onnx::TensorProto& tensor : body.initializer()) defined.insert(tensor.name());
  for (const onnx::NodeProto& node : body.node()) defined.insert(node.output().begin(), node.output().end());
  const auto add = [&](std::string_view name) {
    if (!name.empty() && !defined.contains(name)) names.push_back(name);
  };
  for (const onnx::NodeProto& node : body.node()) {
    for (const std::string_view name : names_read_by(node)) add(name);
  }
  for (const onnx::ValueInfoProto& output : body.output()) add(output.name());
}

Result<Producers> producers_of(const onnx::GraphProto& graph) {
  Names given;
  for (const onnx::ValueInfoProto& input : graph.input()) given.insert(input.name());
  for (const onnx::TensorProto& tensor : graph.initializer()) given.insert(tensor.name());
  Producers producers;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : graph.node(i).output()) {
      if (name.empty()) continue;
      if (given.contains(name)) {
        return fail(label_in(graph, i), fmt::format("{}it overwrites {}, which is an input or initializer of the graph",
                                                    kNoOnnx, quoted_name(name)));
      }
      const auto [known, is_new] = producers.emplace(name, i);
      if (is_new) continue;
      return fail(label_in(graph, i), fmt::format("{}it computes {}, which {} computes too", kNoOnnx, quoted_name(name),
                                                  label_in(graph, known->second)));
    }
  }
  return producers;
}

// Who waits for whom.
struct Waiting {
  std::vector<std::vector<int>> readers;  // of each node
  std::vector<int> awaited;               // how many values of other nodes each still reads
};

Waiting waiting_in(const onnx::GraphProto& graph, const Producers& producers) {
  const auto count = static_cast<std::size_t>(graph.node_size());
  Waiting waiting{std::vector<std::vector<int>>(count), std::vector<int>(count, 0)};
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string_view name : names_read_by(graph.node(i))) {
      const auto producer = producers.find(name);
      if (producer == producers.end()) continue;
      waiting.readers[static_cast<std::size_t>(producer->second)].push_back(i);
      ++waiting.awaited[static_cast<std::size_t>(i)];
    }
  }
  return waiting;
}

// From a node that is never reached, back along what it waits for, until a node stands there again: it is on a cycle.
tl::unexpected<Error> cycle_in(const onnx::GraphProto& graph, const Producers& producers, const Waiting& waiting) {
  const auto waits = [&](int node) { return waiting.awaited[static_cast<std::size_t>(node)] > 0; };
  int node = 0;
  while (!waits(node)) ++node;
  std::string_view value;
  std::vector<bool> seen(static_cast<std::size_t>(graph.node_size()));
  while (!seen[static_cast<std::size_t>(node)]) {
    seen[static_cast<std::size_t>(node)] = true;
    for (const std::string_view name : names_read_by(graph.node(node))) {
      const auto producer = producers.find(name);
      if (producer == producers.end() || !waits(producer->second)) continue;
      value = name;
      node = producer->second;
      break;
    }
  }
  return fail(label_in(graph, node), fmt::format("{}its value {} depends on itself", kNoOnnx, quoted_name(value)));
}

}  // namespace

std::string label_of(const onnx::NodeProto& node, int position) {
  return fmt::format("node {} ({})", node.name().empty() ? std::to_string(position) : quoted_name(node.name()),
                     printable(node.op_type()));
}

std::vector<std::string_view> names_read_by(const onnx::NodeProto& node) {
  std::vector<std::string_view> names(node.input().begin(), node.input().end());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) add_names_from_outside(attribute.g(), names);
    for (const onnx::GraphProto& body : attribute.graphs()) add_names_from_outside(body, names);
  }
  return names;
}

Result<std::vector<int>> order_of(const onnx::GraphProto& graph) {
  QCONFORM_ASSIGN(const Producers producers, producers_of(graph));
  Waiting waiting = waiting_in(graph, producers);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (waiting.awaited[static_cast<std::size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int reader : waiting.readers[static_cast<std::size_t>(node)]) {
      if (--waiting.awaited[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (order.size() < static_cast<std::size_t>(graph.node_size())) return cycle_in(graph, producers, waiting);
  return order;
}

Result<void> check_graphs(const onnx::GraphProto& graph) {
  QCONFORM_TRY(order_of(graph));
  for (const onnx::GraphProto* body : bodies_of(graph)) QCONFORM_TRY(check_graphs(*body));
  return {};
}

Result<void> check_sizes(const GraphScope& scope) {
  const onnx::GraphProto& graph = scope.graph();
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : graph.node(i).output()) {
      const ValueFacts facts = name.empty() ? ValueFacts{} : scope.facts(name);
      const auto shape = full_shape(facts.shape);
      if (!shape) continue;
      const ElementType type = is_known(facts.type) ? facts.type : ElementType::uint8;
      QCONFORM_TRY(in_context(label_of(graph.node(i), i), checked_bytes("value " + quoted_name(name), type, *shape)));
    }
  }
  for (const auto& body : scope.bodies()) QCONFORM_TRY(check_sizes(*body));
  return {};
}

Result<void> parse_model(std::string_view bytes, onnx::ModelProto& model) {
  QCONFORM_TRY(parse_message(bytes, model));
  return check_graphs(model.graph());
}

Result<void> read_model(const std::filesystem::path& file, onnx::ModelProto& model) {
  QCONFORM_TRY(read_message(file, model));
  return in_context(file.string(), check_graphs(model.graph()));
}

}  // namespace qconform
