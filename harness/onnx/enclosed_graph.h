// Graphs in the body of an operator, where other code of a runtime rewrites them.
#pragma once

#include <onnx/onnx_pb.h>

namespace qconform {

/// Puts the nodes into both branches of an If. Its condition is the first element of the first input, so that a runtime
/// cannot know it before it runs; true where the graph has no such element of int8, uint8, int32 or float32.
/// Initializers and inputs stay in the graph, and its outputs keep their names.
void put_in_branches(onnx::GraphProto& graph);

/// Has a Loop that runs once compute the outputs once more, and gives the graph its outputs. The nodes stay in the
/// graph too, since a Loop needs a first value of each output, of its type.
void put_in_loop(onnx::GraphProto& graph);

}  // namespace qconform
