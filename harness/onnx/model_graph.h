// Any ONNX model as a graph for a reader: nodes of every domain, whatever they compute.
#pragma once

#include <string_view>

#include "harness/base/error.h"
#include "harness/core/case_graph.h"

namespace qconform {

/// Of a serialized ModelProto. Attributes that a case cannot hold, and values whose type the model does not state, are
/// left out.
[[nodiscard]] Result<CaseGraph> graph_of_model(std::string_view model);

}  // namespace qconform
