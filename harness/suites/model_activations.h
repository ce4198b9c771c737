// Inputs of a whole model, and the values that reach its quantized nodes when it runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/library.h"
#include "harness/base/error.h"
#include "harness/core/limits.h"
#include "harness/onnx/graph_scope.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace qconform {

struct ModelActivations {
  NamedTensors values;  ///< inputs that are no constants, and outputs, of the quantized nodes of the outermost graph
  std::string origin;   ///< "activations of ONNX Runtime 1.30.0, inputs drawn from seed 1"
};

struct ActivationOptions {
  std::filesystem::path folder = {};              ///< below which external data lies
  std::vector<std::filesystem::path> files = {};  ///< with the inputs; without any, they are drawn from the seed
  std::uint64_t seed = 1;
  std::set<std::string> also = {};              ///< further values of the outermost graph that are wanted
  std::uint64_t memory = limits::kModelMemory;  ///< memory of the process in which the model runs
};

/// Runs the model in the offered runtime, in a process of its own. `scope` holds what is known of the model's graph.
/// Errors: no runtime, what read_model_inputs() and draw_model_inputs() refuse, and what the runtime does; rule `limit`
/// where the model takes more memory.
[[nodiscard]] Result<ModelActivations> compute_activations(const onnx::ModelProto& model, const GraphScope& scope,
                                                           const ActivationOptions& options);

}  // namespace qconform

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace qconform {

/// A tensor for each input of the graph that has no initializer, from TensorProto files. A file whose tensor has
/// the name of an input is for that one; the others are taken in order. Errors: too few or too many files, and
/// tensors whose type, rank or sizes are not those that the model declares.
[[nodiscard]] Result<NamedTensors> read_model_inputs(const onnx::GraphProto& graph,
                                                     std::span<const std::filesystem::path> files);

/// Draws the model's inputs from the seed: float, float16 and bfloat16 within [-2, 2], 8-bit integers from all values,
/// wider ones from 0 to 9. An unknown first dimension is `first_dimension`. Errors: other types, other unknown
/// dimensions, what exceeds limits.h.
[[nodiscard]] Result<NamedTensors> draw_model_inputs(const onnx::GraphProto& graph, std::uint64_t seed,
                                                     std::int64_t first_dimension = kAssumedBatch);

}  // namespace qconform
