#include "harness/onnx/graph_scope.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "harness/base/text.h"
#include "harness/core/limits.h"
#include "harness/core/tensor.h"
#include "harness/onnx/protobuf.h"

namespace qconform {

namespace {

ValueFacts facts_of(const onnx::TensorProto& tensor) {
  ValueFacts facts{static_cast<ElementType>(tensor.data_type()), std::nullopt};
  if (static_cast<std::size_t>(tensor.dims_size()) > limits::kRank) return facts;
  facts.shape.emplace();
  for (const std::int64_t size : tensor.dims()) {
    facts.shape->push_back(size >= 0 && size <= limits::kElements ? std::optional(size) : std::nullopt);
  }
  return facts;
}

const onnx::TensorProto* constant_tensor(const onnx::NodeProto& node) {
  if (node.op_type() != "Constant" || node.output_size() != 1) return nullptr;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "value" && attribute.has_t()) return &attribute.t();
  }
  return nullptr;
}

bool merge(ValueFacts& known, const ValueFacts& news) {
  bool changed = false;
  if (known.type == ElementType::undefined && news.type != ElementType::undefined) {
    known.type = news.type;
    changed = true;
  }
  if (!news.shape) return changed;
  if (!known.shape) {
    known.shape = news.shape;
    return true;
  }
  if (known.shape->size() != news.shape->size()) return changed;
  for (std::size_t i = 0; i < known.shape->size(); ++i) {
    if ((*known.shape)[i] || !(*news.shape)[i]) continue;
    (*known.shape)[i] = (*news.shape)[i];
    changed = true;
  }
  return changed;
}

void write_facts(const ValueFacts& facts, onnx::ValueInfoProto& info) {
  onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<std::int32_t>(facts.type));
  type.clear_shape();
  if (!facts.shape) return;
  type.mutable_shape();
  for (const std::optional<std::int64_t>& size : *facts.shape) {
    onnx::TensorShapeProto::Dimension& dimension = *type.mutable_shape()->add_dim();
    if (size) dimension.set_dim_value(*size);
  }
}

}  // namespace

ValueFacts facts_of(const onnx::ValueInfoProto& info) {
  ValueFacts facts;
  if (!info.type().has_tensor_type()) return facts;
  const onnx::TypeProto::Tensor& type = info.type().tensor_type();
  facts.type = static_cast<ElementType>(type.elem_type());
  if (!type.has_shape() || static_cast<std::size_t>(type.shape().dim_size()) > limits::kRank) return facts;
  facts.shape.emplace();
  for (const onnx::TensorShapeProto::Dimension& dimension : type.shape().dim()) {
    const std::int64_t size = dimension.has_dim_value() ? dimension.dim_value() : -1;
    // A size that no tensor of ours can have counts as unknown, so that later sums cannot overflow.
    const bool usable = size >= 0 && size <= limits::kElements;
    facts.shape->push_back(usable ? std::optional(size) : std::nullopt);
  }
  return facts;
}

std::optional<std::vector<std::int64_t>> full_shape(const std::optional<PartialShape>& shape) {
  if (!shape) return std::nullopt;
  std::vector<std::int64_t> full;
  for (const std::optional<std::int64_t>& size : *shape) {
    if (!size) return std::nullopt;
    full.push_back(*size);
  }
  return full;
}

std::vector<const onnx::GraphProto*> bodies_of(const onnx::GraphProto& graph) {
  std::vector<const onnx::GraphProto*> bodies;
  for (const onnx::NodeProto& node : graph.node()) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) bodies.push_back(&attribute.g());
      for (const onnx::GraphProto& body : attribute.graphs()) bodies.push_back(&body);
    }
  }
  return bodies;
}

GraphScope::GraphScope(const onnx::GraphProto& graph, const GraphScope* outer) : graph_(graph), outer_(outer) {
  read_constants();
  read_declared();
  for (const onnx::GraphProto* body : bodies_of(graph)) bodies_.push_back(std::make_unique<GraphScope>(*body, this));
}

void GraphScope::read_constants() {
  for (const onnx::TensorProto& tensor : graph_.initializer()) constants_.emplace(tensor.name(), &tensor);
  for (const onnx::NodeProto& node : graph_.node()) {
    if (const onnx::TensorProto* tensor = constant_tensor(node)) constants_.emplace(node.output(0), tensor);
  }
}

void GraphScope::read_declared() {
  read_inputs();
  for (const onnx::ValueInfoProto& info : graph_.value_info()) learn(info.name(), facts_of(info));
  for (const onnx::ValueInfoProto& info : graph_.output()) learn(info.name(), facts_of(info));
}

void GraphScope::read_inputs() {
  for (const onnx::ValueInfoProto& info : graph_.input()) {
    ValueFacts facts = facts_of(info);
    if (facts.shape && !facts.shape->empty() && !facts.shape->front()) {
      facts.shape->front() = first_dimension_;
      assumes_first_dimension_ = true;
    }
    learn(info.name(), facts);
  }
}

void GraphScope::assume_first_dimension(std::int64_t size) {
  first_dimension_ = size;
  values_.clear();
  read_declared();
  for (const auto& body : bodies_) body->assume_first_dimension(size);
}

std::optional<std::int64_t> GraphScope::assumed_first_dimension() const {
  const bool here = assumes_first_dimension_ || std::any_of(bodies_.begin(), bodies_.end(), [](const auto& body) {
                      return body->assumed_first_dimension().has_value();
                    });
  return here ? std::optional(first_dimension_) : std::nullopt;
}

void GraphScope::add_constant(const std::string& name, const Tensor& value) {
  auto proto = std::make_shared<onnx::TensorProto>();
  write_tensor(value, name, *proto);
  constants_[name] = proto.get();
  derived_.push_back(std::move(proto));
}

void GraphScope::add_constant(const std::string& name, const onnx::TensorProto& same) {
  constants_[name] = &same;
}

const onnx::TensorProto* GraphScope::constant(const std::string& name) const {
  for (const GraphScope* scope = this; scope != nullptr; scope = scope->outer_) {
    if (const auto found = scope->constants_.find(name); found != scope->constants_.end()) return found->second;
    if (scope->values_.count(name) != 0) return nullptr;
  }
  return nullptr;
}

ValueFacts GraphScope::facts(const std::string& name) const {
  for (const GraphScope* scope = this; scope != nullptr; scope = scope->outer_) {
    if (const auto found = scope->constants_.find(name); found != scope->constants_.end()) {
      return facts_of(*found->second);
    }
    if (const auto found = scope->values_.find(name); found != scope->values_.end()) return found->second;
  }
  return {};
}

bool GraphScope::learn(const std::string& name, const ValueFacts& facts) {
  if (name.empty() || constants_.count(name) != 0) return false;
  if (facts.type == ElementType::undefined && !facts.shape) return false;
  return merge(values_[name], facts);
}

bool GraphScope::learn_from(const onnx::GraphProto& inferred) {
  bool changed = false;
  for (const onnx::ValueInfoProto& info : inferred.value_info()) changed |= learn(info.name(), facts_of(info));
  for (const onnx::ValueInfoProto& info : inferred.output()) changed |= learn(info.name(), facts_of(info));
  const std::vector<const onnx::GraphProto*> bodies = bodies_of(inferred);
  for (std::size_t i = 0; i < std::min(bodies.size(), bodies_.size()); ++i) {
    changed |= bodies_[i]->learn_from(*bodies[i]);
  }
  return changed;
}

void GraphScope::write_to(onnx::GraphProto& copy) const {
  copy.clear_value_info();
  for (onnx::ValueInfoProto& input : *copy.mutable_input()) {
    if (const auto found = values_.find(input.name()); found != values_.end()) write_facts(found->second, input);
  }
  std::set<std::string> declared;
  for (const onnx::ValueInfoProto& info : copy.input()) declared.insert(info.name());
  for (const onnx::ValueInfoProto& info : copy.output()) declared.insert(info.name());
  for (const auto& [name, facts] : values_) {
    if (facts.type == ElementType::undefined || declared.count(name) != 0) continue;
    onnx::ValueInfoProto& info = *copy.add_value_info();
    info.set_name(name);
    write_facts(facts, info);
  }
}

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
  std::vector<std::vector<int>> readers;  // by node: who reads its values
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

bool has_quantized_name(std::string_view op_type) {
  if (op_type == "QuickGelu") return false;
  return op_type.starts_with("Q") || op_type.starts_with("Dequantize") || op_type.starts_with("DynamicQuantize") ||
         op_type.find("Integer") != std::string_view::npos || op_type == "MatMulNBits" ||
         op_type == "GatherBlockQuantized";
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

namespace {

Result<void> prepare(onnx::ModelProto& model) {
  QCONFORM_TRY(inline_functions(model));
  return check_graphs(model.graph());
}

}  // namespace

Result<void> parse_model(std::string_view bytes, onnx::ModelProto& model) {
  QCONFORM_TRY(parse_message(bytes, model));
  return prepare(model);
}

Result<void> read_model(const std::filesystem::path& file, onnx::ModelProto& model) {
  QCONFORM_TRY(read_message(file, model));
  return in_context(file.string(), prepare(model));
}

}  // namespace qconform
