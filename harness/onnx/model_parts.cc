#include "harness/onnx/model_parts.h"

#include <onnx/onnx_pb.h>
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/graphs/shown_graph.h"
#include "harness/model/text.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/node_proto.h"
#include "harness/onnx/protobuf_file.h"
#include "harness/onnx/tensor_proto.h"

namespace qconform {

namespace {

// Sequences, maps and optional values cannot be fed to a part as tensors.
bool computes_tensors_alone(const onnx::NodeProto& node) {
  const std::string& domain = node.domain();
  const bool is_known = domain.empty() || domain == "ai.onnx" || domain == "com.microsoft";
  return is_known && node.op_type().find("Sequence") == std::string::npos && !node.op_type().starts_with("Optional");
}

bool can_be_cut(const onnx::GraphProto& graph) {
  const auto& nodes = graph.node();
  return graph.sparse_initializer_size() == 0 && std::all_of(nodes.begin(), nodes.end(), computes_tensors_alone);
}

}  // namespace

Result<ModelParts> ModelParts::of(const onnx::ModelProto& model, const std::set<std::string>& wanted,
                                  std::size_t nodes) {
  const onnx::GraphProto& graph = model.graph();
  QCONFORM_ASSIGN(const auto order, order_of(graph));
  ModelParts result(model);
  result.wanted_ = wanted;
  for (const onnx::TensorProto& tensor : graph.initializer()) result.initializers_.emplace(tensor.name(), &tensor);
  for (const onnx::ValueInfoProto& info : graph.value_info()) result.stated_.emplace(info.name(), &info);
  result.cut(order, can_be_cut(graph) ? nodes : std::max<std::size_t>(order.size(), 1));
  return result;
}

void ModelParts::cut(const std::vector<int>& order, std::size_t nodes) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % nodes == 0) parts_.emplace_back();
    const onnx::NodeProto& node = model_->graph().node(order[i]);
    Part& part = parts_.back();
    part.nodes.push_back(&node);
    for (const std::string_view name : names_read_by(node)) {
      if (name.empty() || part.computes.contains(std::string(name))) continue;
      part.reads.emplace(name);
      last_reader_[std::string(name)] = parts_.size() - 1;
    }
    part.computes.insert(node.output().begin(), node.output().end());
    part.computes.erase("");
  }
}

bool ModelParts::is_needed_after(std::size_t number, const std::string& value) const {
  const auto reader = last_reader_.find(value);
  return wanted_.contains(value) || (reader != last_reader_.end() && reader->second > number);
}

std::map<std::string, Tensor> ModelParts::fed(std::size_t number, const std::map<std::string, Tensor>& known) const {
  std::map<std::string, Tensor> result;
  for (const std::string& name : parts_[number].reads) {
    const auto value = known.find(name);
    if (value != known.end()) result.insert(*value);
  }
  return result;
}

Result<std::string> ModelParts::part(std::size_t number, const std::map<std::string, Tensor>& known) const {
  const Part& part = parts_[number];
  onnx::ModelProto model;
  model.set_ir_version(model_->ir_version());
  *model.mutable_opset_import() = model_->opset_import();
  *model.mutable_functions() = model_->functions();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(model_->graph().name());
  *graph.mutable_sparse_initializer() = model_->graph().sparse_initializer();
  for (const std::string& name : part.computes) {
    if (const auto stated = stated_.find(name); stated != stated_.end()) *graph.add_value_info() = *stated->second;
    if (is_needed_after(number, name)) graph.add_output()->set_name(name);
  }
  if (graph.output_size() == 0) return std::string();
  for (const std::string& name : part.reads) {
    const auto value = known.find(name);
    const auto held = initializers_.find(name);
    if (value != known.end()) {
      write_value_info(name, value->second.type, value->second.shape, *graph.add_input());
    } else if (held != initializers_.end()) {
      *graph.add_initializer() = *held->second;
    }
  }
  for (const onnx::NodeProto* node : part.nodes) *graph.add_node() = *node;
  return message_bytes(model);
}

namespace {

CaseGraph::Value stated_value(const onnx::ValueInfoProto& info) {
  const onnx::TypeProto::Tensor& tensor = info.type().tensor_type();
  CaseGraph::Value result{info.name(), name_of(static_cast<ElementType>(tensor.elem_type())), {}, {}};
  for (const auto& dimension : tensor.shape().dim()) result.shape.push_back(dimension.dim_value());
  return result;
}

CaseGraph::Node node_of(const onnx::NodeProto& node) {
  CaseGraph::Node result{node.op_type(), node.domain(), {}, {}, {}};
  for (const std::string& name : node.input()) result.inputs.push_back(printable(name));
  for (const std::string& name : node.output()) result.outputs.push_back(printable(name));
  if (const auto attributes = attributes_of(node)) {
    for (const Attribute& attribute : *attributes) {
      result.attributes[attribute.name] = attribute_text(attribute.value);
    }
  }
  return result;
}

}  // namespace

Result<CaseGraph> graph_of_model(std::string_view model) {
  onnx::ModelProto proto;
  QCONFORM_TRY(parse_message(model, proto));
  const onnx::GraphProto& graph = proto.graph();
  CaseGraph result;
  std::set<std::string> held;
  for (const onnx::TensorProto& initializer : graph.initializer()) {
    held.insert(initializer.name());
    if (const auto tensor = tensor_from_proto(initializer, std::nullopt)) {
      result.initializers.push_back(shown_value(printable(initializer.name()), *tensor));
    }
  }
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (held.count(input.name()) == 0) result.inputs.push_back(stated_value(input));
  }
  for (const onnx::ValueInfoProto& value : graph.value_info()) result.computed.push_back(stated_value(value));
  for (const onnx::ValueInfoProto& output : graph.output()) result.outputs.push_back(printable(output.name()));
  for (const onnx::NodeProto& node : graph.node()) result.nodes.push_back(node_of(node));
  return result;
}

}  // namespace qconform
