// The values that reach the quantized nodes of a model when it runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/error.h"
#include "harness/onnx/graph_scope.h"
#include "harness/suites/model_runtime.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace qconform {

struct ModelActivations {
  NamedTensors values;  ///< inputs that are no constants, and outputs, of the quantized nodes of the outermost graph
  std::string origin;   ///< "activations of ONNX Runtime 1.30.0, inputs drawn from seed 1"
};

/// Runs the model in the offered runtime with the inputs of `files`, or, without any, with inputs drawn from
/// `seed`. `scope` holds what is known of the model's graph. External data lies below `folder`. Errors: no runtime,
/// what model_inputs.h refuses, and what the runtime does.
[[nodiscard]] Result<ModelActivations> compute_activations(const onnx::ModelProto& model, const GraphScope& scope,
                                                           const std::filesystem::path& folder,
                                                           const std::vector<std::filesystem::path>& files,
                                                           std::uint64_t seed);

}  // namespace qconform
