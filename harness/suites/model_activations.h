// What goes into a whole model, and the values that reach its quantized nodes when it runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/base/error.h"
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

/// `also`: further values of the outermost graph that are wanted; those that the model holds or that are fed are there.
/// Runs the model in the offered runtime with the inputs of `files`, or, without any, with inputs drawn from
/// `seed`. `scope` holds what is known of the model's graph. External data lies below `folder`. Errors: no runtime,
/// what read_model_inputs() and draw_model_inputs() refuse, and what the runtime does.
[[nodiscard]] Result<ModelActivations> compute_activations(const onnx::ModelProto& model, const GraphScope& scope,
                                                           const std::filesystem::path& folder,
                                                           const std::vector<std::filesystem::path>& files,
                                                           std::uint64_t seed, const std::set<std::string>& also = {});

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

/// The same drawn from the seed: float, float16 and bfloat16 within [-2, 2], 8-bit integers from all values, wider ones
/// from 0 to 9. An unknown first dimension is `first_dimension`. Errors: other types, other unknown dimensions, what
/// exceeds limits.h.
[[nodiscard]] Result<NamedTensors> draw_model_inputs(const onnx::GraphProto& graph, std::uint64_t seed,
                                                     std::int64_t first_dimension = kAssumedBatch);

}  // namespace qconform
