// ONNX's shape inference on models that are not trusted.
#pragma once

#include <cstdint>

#include "harness/base/error.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace qconform {

enum class InferenceErrors : std::uint8_t {
  pass_over,  ///< the library leaves out nodes that it cannot infer
  report,     ///< an error at any node is an error here
};

/// Runs onnx::shape_inference::InferShapes on `model` and adds what it finds. The library divides by
/// strides of zero and the like, so it runs in a child process with bounds on time and memory: what
/// goes wrong there is an error here, and the model stays as it was. Forks: call it before starting
/// threads.
[[nodiscard]] Result<void> infer_shapes_isolated(onnx::ModelProto& model,
                                                 InferenceErrors errors = InferenceErrors::pass_over);

}  // namespace qconform
