// Cases of several nodes for a reader.
#pragma once

#include <string>

#include "harness/core/case.h"

namespace qconform {

/// Shows a case of several nodes as a graph, whatever is expected of it.
[[nodiscard]] CaseGraph shown_graph(const Case& test_case);

/// Shows a tensor of such a graph, with its data where it has few elements.
[[nodiscard]] CaseGraph::Value shown_value(const std::string& name, const Tensor& tensor);

}  // namespace qconform
