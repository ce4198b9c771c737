// How the names of a case's values must fit together, so that its nodes can be computed one after the other.
#pragma once

#include "harness/base/error.h"
#include "harness/core/case.h"

namespace qconform {

/// Checks the names of a case. A case of one node has none. In a case of several nodes, every tensor of the case and
/// every output of a node has a name of its own, which does not begin with "qconform."; a node reads tensors of the
/// case and outputs of nodes before it; the outputs of the graph are computed, each named once; the nodes of a domain
/// have one opset version; at most limits.h allows. The answers recorded are none, or one for each output. Errors name
/// the field, the value, and rule "graph" or "limit".
[[nodiscard]] Result<void> check_wiring(const Case& test_case);

}  // namespace qconform
