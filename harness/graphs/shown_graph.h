// Cases of several nodes for a reader.
#pragma once

#include <string>

#include "harness/core/case.h"
#include "harness/core/case_graph.h"

namespace qconform {

/// Of a case of several nodes, whatever is expected of it.
[[nodiscard]] CaseGraph shown_graph(const Case& test_case);

/// A tensor of such a graph; of few elements with its data.
[[nodiscard]] CaseGraph::Value shown_value(const std::string& name, const Tensor& tensor);

}  // namespace qconform
