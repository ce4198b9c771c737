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
///
/// An unknown first dimension of the model's inputs is a batch of 1. Where a convolution's window is larger than what
/// comes of that, the model has no batch: the dimension becomes the first of 4, 16, ... 4096 that all windows fit, if
/// there is one.
void propagate_shapes(const onnx::ModelProto& model, GraphScope& scope);

}  // namespace qconform
