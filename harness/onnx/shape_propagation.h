// Shapes of every value of a model, as far as they can be found.
#pragma once

#include <optional>

#include "harness/onnx/graph_scope.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace qconform {

/// Fills `scope`, made from model.graph(), from ONNX's shape inference and from our own rules
/// (shape_rules.cc) in turn, until neither finds anything new. Inference that fails is left out:
/// then our rules alone speak.
///
/// An unknown first dimension of the model's inputs is a batch of 1. Where a convolution's window is larger than what
/// comes of that, the model has no batch: the dimension becomes the first of 4, 16, ... 4096 that all windows fit, if
/// there is one.
void propagate_shapes(const onnx::ModelProto& model, GraphScope& scope);

}  // namespace qconform

namespace onnx {
class NodeProto;
}  // namespace onnx

namespace qconform {

/// For operators that ONNX's shape inference does not know: quantized ones of the domain com.microsoft, and those whose
/// inference in the installed library stops short. What follows for the node's first output from what is known of its
/// inputs; empty facts for other operators, and where too little is known or the node is wrong.
[[nodiscard]] ValueFacts facts_of_output(const onnx::NodeProto& node, const GraphScope& scope);

/// The extent of a convolution's window in spatial dimension `axis`: (kernel - 1) * dilation + 1;
/// nullopt where the node is wrong or the extent exceeds the limit on elements.
[[nodiscard]] std::optional<std::int64_t> window_extent(const onnx::NodeProto& node, std::int64_t kernel,
                                                        std::size_t axis);

/// Whether the node is a convolution whose window is larger than its input with the padding (rule C6), as far as both
/// are known.
[[nodiscard]] bool window_exceeds_input(const onnx::NodeProto& node, const GraphScope& scope);

}  // namespace qconform
