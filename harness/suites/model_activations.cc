#include "harness/suites/model_activations.h"

#include <onnx/onnx_pb.h>

#include <set>
#include <utility>

#include "harness/onnx/external_data.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf_file.h"
#include "harness/operators/operator.h"
#include "harness/suites/model_inputs.h"

namespace qconform {
namespace {

// The values that are not there before the model runs.
std::set<std::string> values_around_quantized_nodes(const GraphScope& scope) {
  std::set<std::string> names;
  for (const onnx::NodeProto& node : scope.graph().node()) {
    if (find_operator(node.domain(), node.op_type()) == nullptr) continue;
    for (const std::string& name : node.input()) {
      if (!name.empty() && scope.constant(name) == nullptr) names.insert(name);
    }
    for (const std::string& name : node.output()) {
      if (!name.empty()) names.insert(name);
    }
  }
  return names;
}

// The model whose outputs are those values, and nothing else.
Result<std::string> exposing_model(const onnx::ModelProto& model, const NamedTensors& inputs,
                                   const std::set<std::string>& wanted) {
  onnx::ModelProto exposing = model;
  onnx::GraphProto& graph = *exposing.mutable_graph();
  graph.clear_output();
  for (const std::string& name : wanted) {
    if (inputs.count(name) == 0) graph.add_output()->set_name(name);
  }
  if (graph.output_size() == 0) return fail("graph", "has no quantized node that is computed when the model runs");
  return message_bytes(exposing);
}

}  // namespace

Result<ModelActivations> compute_activations(const onnx::ModelProto& model, const GraphScope& scope,
                                             const std::filesystem::path& folder,
                                             const std::vector<std::filesystem::path>& files, std::uint64_t seed) {
  const ModelRuntime& runtime = offered_model_runtime();
  if (!runtime.absent.empty()) return fail(runtime.name, "is not available: " + runtime.absent);
  QCONFORM_TRY(check_external_data_is_fetched(model.graph(), folder));
  const std::int64_t first = scope.assumed_first_dimension().value_or(kAssumedBatch);
  QCONFORM_ASSIGN(auto inputs, files.empty() ? draw_model_inputs(model.graph(), seed, first)
                                             : read_model_inputs(model.graph(), files));
  QCONFORM_ASSIGN(const auto exposing, exposing_model(model, inputs, values_around_quantized_nodes(scope)));
  QCONFORM_ASSIGN(auto values, runtime.run(exposing, folder, inputs));
  values.merge(inputs);
  return ModelActivations{std::move(values),
                          "activations of " + runtime.name +
                              (files.empty() ? ", inputs drawn from seed " + std::to_string(seed) : ", inputs given")};
}

}  // namespace qconform
