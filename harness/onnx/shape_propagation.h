// Shapes of every value of a model, as far as they can be found.
#pragma once

#include "harness/onnx/graph_scope.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace qconform {

/// Fills `scope`, made from model.graph(), from ONNX's shape inference and from our own rules
/// (shape_rules.h) in turn, until neither finds anything new. Inference that fails is left out:
/// then our rules alone speak.
void propagate_shapes(const onnx::ModelProto& model, GraphScope& scope);

}  // namespace qconform
