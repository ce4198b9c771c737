// Fuzzes the readers of ONNX files: a one-node model, a tensor, and the propagation of shapes through
// a whole graph by our own rules. What is read must survive being written and read again.
#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "harness/onnx/case_model.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void read_as_case(std::string_view bytes) {
  const auto first = qconform::case_from_model(bytes);
  if (!first) {
    require(!first.error().text().empty());
    return;
  }
  const auto written = qconform::case_to_model(*first);
  require(written.has_value());
  const auto second = qconform::case_from_model(*written);
  require(second.has_value());
  require(*qconform::case_to_model(*second) == *written);  // by bytes: NaN does not equal itself
}

void read_as_tensor(std::string_view bytes) {
  onnx::TensorProto proto;
  if (!qconform::parse_message(bytes, proto)) return;
  const auto tensor = qconform::tensor_from_proto(proto, std::nullopt);
  if (!tensor) return;
  onnx::TensorProto again;
  qconform::write_tensor(*tensor, "again", again);
  const auto back = qconform::tensor_from_proto(again, std::nullopt);
  require(back.has_value() && *back == *tensor);
}

void apply_rules(qconform::GraphScope& scope) {
  for (const onnx::NodeProto& node : scope.graph().node()) {
    const qconform::ValueFacts facts = qconform::facts_of_output(node, scope);
    if (node.output_size() > 0) scope.learn(node.output(0), facts);
  }
  for (const auto& body : scope.bodies()) apply_rules(*body);
}

void read_as_network(std::string_view bytes) {
  onnx::ModelProto model;
  if (!qconform::parse_message(bytes, model)) return;
  qconform::GraphScope scope(model.graph());
  if (!qconform::fold_constants(scope, std::nullopt)) return;
  apply_rules(scope);
  apply_rules(scope);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_as_case(bytes);
  read_as_tensor(bytes);
  read_as_network(bytes);
  return 0;
}
