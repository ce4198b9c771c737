#include "harness/onnx/model_graph.h"

#include <onnx/onnx_pb.h>

#include <set>
#include <string>
#include <utility>

#include "harness/graphs/shown_graph.h"
#include "harness/model/text.h"
#include "harness/onnx/node_proto.h"
#include "harness/onnx/protobuf_file.h"
#include "harness/onnx/tensor_proto.h"

namespace qconform {
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
