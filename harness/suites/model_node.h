// One quantized node of a model as a case: what the model holds, and what has to be drawn.
#pragma once

#include <string>
#include <variant>

#include "harness/backends/model_runtime.h"
#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/model/draws/rng.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/tensor_proto.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace qconform {

/// Why a node or a unit gives no case.
struct SkippedNode {
  std::string reason;  ///< one line that begins with what is at fault: operator, attribute, type, size, ...
};

/// Operator, attributes, inputs and note of a node whose operator find_operator() knows. Constants
/// come from the model (damaged ones are an error); the data input, and what the model computes at
/// run time, are drawn from `rng` where `computed` does not hold them. Tensors above `max_elements` are not drawn.
/// The recorded output is that of `computed`, if it is there.
[[nodiscard]] Result<std::variant<Case, SkippedNode>> case_from_model_node(
    const onnx::ModelProto& model, const onnx::NodeProto& node, const GraphScope& scope, const ExternalFolder& external,
    const NamedTensors& computed, std::int64_t max_elements, Rng& rng);

}  // namespace qconform
