// Cases of several nodes for a reader.
#pragma once

#include "harness/core/case.h"
#include "harness/core/case_graph.h"

namespace qconform {

/// Of a case of several nodes, whatever is expected of it.
[[nodiscard]] CaseGraph shown_graph(const Case& test_case);

}  // namespace qconform
