// Any ONNX model as a graph for a reader: nodes of every domain, whatever they compute.
#pragma once

#include <string_view>

#include "harness/base/error.h"
#include "harness/core/case_graph.h"

namespace qconform {

/// Reads the graph of a serialized ModelProto. It leaves out attributes that a case cannot hold, and values whose type
/// the model does not state.
[[nodiscard]] Result<CaseGraph> graph_of_model(std::string_view model);

}  // namespace qconform
