#include "harness/onnx/shape_propagation.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <iterator>

#include "harness/onnx/isolated_inference.h"

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

void spread(const onnx::ModelProto& model, GraphScope& scope) {
  for (int round = 0; round < kMaxRounds; ++round) {
    onnx::ModelProto trial = model;
    scope.write_to(*trial.mutable_graph());
    bool changed = infer_shapes_isolated(trial).has_value() && scope.learn_from(trial.graph());
    changed |= apply_rules(scope);
    if (!changed) return;
  }
}

bool windows_fit(const GraphScope& scope) {
  const auto& nodes = scope.graph().node();
  return std::none_of(nodes.begin(), nodes.end(),
                      [&](const onnx::NodeProto& node) { return window_exceeds_input(node, scope); }) &&
         std::all_of(scope.bodies().begin(), scope.bodies().end(), [](const auto& body) { return windows_fit(*body); });
}

/// Whether all windows fit when the first dimension is that large.
bool fits(std::int64_t first_dimension, const onnx::ModelProto& model, GraphScope& scope) {
  scope.assume_first_dimension(first_dimension);
  spread(model, scope);
  return windows_fit(scope);
}

}  // namespace

void propagate_shapes(const onnx::ModelProto& model, GraphScope& scope) {
  constexpr std::int64_t kSizes[] = {4, 16, 64, 256, 1024, 4096};
  onnx::ModelProto small = model;
  strip(*small.mutable_graph());
  spread(small, scope);
  if (!scope.assumed_first_dimension() || windows_fit(scope)) return;
  if (!fits(*std::rbegin(kSizes), small, scope)) {  // another dimension is at fault
    static_cast<void>(fits(kAssumedBatch, small, scope));
    return;
  }
  for (const std::int64_t size : kSizes) {
    if (fits(size, small, scope)) return;
  }
}

}  // namespace qconform
