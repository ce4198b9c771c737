#include "harness/onnx/enclosed_graph.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/onnx/protobuf.h"

namespace qconform {
namespace {

// Names of values that are added, which no case has.
constexpr const char* kCondition = "qconform.condition";
constexpr const char* kOnce = "qconform.once";
constexpr const char* kAllElements = "qconform.all_elements";
constexpr const char* kFront = "qconform.front";

onnx::NodeProto& add_node(onnx::GraphProto& graph, const char* op, const std::vector<std::string>& inputs) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  return node;
}

onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const char* name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

void write_numbers(const char* name, const make::Shape& shape, std::int64_t number, onnx::GraphProto& graph) {
  write_tensor(make::filled(ElementType::int64, shape, number), name, *graph.add_initializer());
}

// The nodes and outputs under other names: a name in a body must not hide one of the graph around it.
onnx::GraphProto renamed(const onnx::GraphProto& graph, const std::string& prefix) {
  onnx::GraphProto body;
  body.set_name(prefix);
  *body.mutable_node() = graph.node();
  *body.mutable_output() = graph.output();
  std::set<std::string> made;
  for (const onnx::NodeProto& node : graph.node()) made.insert(node.output().begin(), node.output().end());
  made.erase("");
  const auto rename = [&](std::string& name) {
    if (made.contains(name)) name = prefix + "." + name;
  };
  for (onnx::NodeProto& node : *body.mutable_node()) {
    for (std::string& name : *node.mutable_input()) rename(name);
    for (std::string& name : *node.mutable_output()) rename(name);
  }
  for (onnx::ValueInfoProto& output : *body.mutable_output()) rename(*output.mutable_name());
  return body;
}

bool has_element_to_cast(const onnx::GraphProto& graph) {
  if (graph.input().empty()) return false;
  const onnx::TypeProto::Tensor& type = graph.input(0).type().tensor_type();
  const auto& dims = type.shape().dim();
  const auto is_there = [](const auto& dim) { return dim.dim_value() > 0; };
  if (!type.has_shape() || !std::all_of(dims.begin(), dims.end(), is_there)) return false;
  constexpr int kCast[] = {onnx::TensorProto::INT8, onnx::TensorProto::UINT8, onnx::TensorProto::INT32,
                           onnx::TensorProto::FLOAT};
  return std::find(std::begin(kCast), std::end(kCast), type.elem_type()) != std::end(kCast);
}

void add_condition(onnx::GraphProto& graph) {
  if (!has_element_to_cast(graph)) {
    return write_tensor(make::filled(ElementType::boolean, {}, 1), kCondition, *graph.add_initializer());
  }
  write_numbers(kAllElements, {1}, -1, graph);
  write_numbers(kFront, {}, 0, graph);
  add_node(graph, "Reshape", {graph.input(0).name(), kAllElements}).add_output("qconform.elements");
  add_node(graph, "Gather", {"qconform.elements", kFront}).add_output("qconform.element");
  onnx::NodeProto& cast = add_node(graph, "Cast", {"qconform.element"});
  cast.add_output(kCondition);
  add_attribute(cast, "to", onnx::AttributeProto::INT).set_i(onnx::TensorProto::BOOL);
}

}  // namespace

void put_in_branches(onnx::GraphProto& graph) {
  onnx::GraphProto then = renamed(graph, "then");
  onnx::GraphProto otherwise = renamed(graph, "else");
  graph.clear_node();
  add_condition(graph);
  onnx::NodeProto& choice = add_node(graph, "If", {kCondition});
  for (const onnx::ValueInfoProto& output : graph.output()) choice.add_output(output.name());
  *add_attribute(choice, "then_branch", onnx::AttributeProto::GRAPH).mutable_g() = std::move(then);
  *add_attribute(choice, "else_branch", onnx::AttributeProto::GRAPH).mutable_g() = std::move(otherwise);
}

void put_in_loop(onnx::GraphProto& graph) {
  onnx::GraphProto first = renamed(graph, "first");
  onnx::GraphProto again = renamed(graph, "again");
  onnx::GraphProto body;
  body.set_name("again");
  write_value_info("qconform.iteration", ElementType::int64, {}, *body.add_input());
  write_value_info("qconform.before", ElementType::boolean, {}, *body.add_input());
  body.mutable_node()->Swap(again.mutable_node());
  add_node(body, "Identity", {"qconform.before"}).add_output("qconform.goes_on");
  body.add_output()->set_name("qconform.goes_on");

  graph.mutable_node()->Swap(first.mutable_node());
  write_numbers(kOnce, {}, 1, graph);
  onnx::NodeProto& loop = add_node(graph, "Loop", {kOnce, ""});
  for (int i = 0; i < graph.output_size(); ++i) {
    loop.add_input(first.output(i).name());
    loop.add_output(graph.output(i).name());
    body.add_input()->set_name("qconform.carried" + std::to_string(i));
    *body.add_output() = again.output(i);
  }
  *add_attribute(loop, "body", onnx::AttributeProto::GRAPH).mutable_g() = std::move(body);
}

}  // namespace qconform
