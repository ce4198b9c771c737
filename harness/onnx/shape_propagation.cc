#include "harness/onnx/shape_propagation.h"

#include <onnx/onnx_pb.h>

#include "harness/onnx/isolated_inference.h"
#include "harness/onnx/shape_rules.h"

namespace qconform {
namespace {

constexpr int kMaxRounds = 16;
constexpr std::size_t kKeptBytes = 4096;

/// Drops the values of weights, which inference does not look at. Small tensors stay: they hold
/// shapes, axes and paddings.
void strip(onnx::TensorProto& tensor) {
  if (tensor.ByteSizeLong() <= kKeptBytes) return;
  tensor.clear_raw_data();
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_string_data();
}

void strip(onnx::GraphProto& graph) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) strip(tensor);
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) strip(*attribute.mutable_t());
      if (attribute.has_g()) strip(*attribute.mutable_g());
      for (onnx::GraphProto& body : *attribute.mutable_graphs()) strip(body);
    }
  }
}

/// Our rules over the nodes in their order, which ONNX requires to be topological.
bool apply_rules(GraphScope& scope) {
  bool changed = false;
  for (const onnx::NodeProto& node : scope.graph().node()) {
    if (node.output_size() > 0) changed |= scope.learn(node.output(0), facts_of_output(node, scope));
  }
  for (const auto& body : scope.bodies()) changed |= apply_rules(*body);
  return changed;
}

}  // namespace

void propagate_shapes(const onnx::ModelProto& model, GraphScope& scope) {
  onnx::ModelProto small = model;
  strip(*small.mutable_graph());
  for (int round = 0; round < kMaxRounds; ++round) {
    onnx::ModelProto trial = small;
    scope.write_to(*trial.mutable_graph());
    bool changed = infer_shapes_isolated(trial).has_value() && scope.learn_from(trial.graph());
    changed |= apply_rules(scope);
    if (!changed) return;
  }
}

}  // namespace qconform
