// The family of cases of several nodes: quantized graphs.
#pragma once

#include "harness/graphs/lowering.h"
#include "harness/model/family.h"
#include "reference/graph/sets.h"

namespace qconform {

[[nodiscard]] const Family& graph_family();

/// The only operator of that family: it stands for all cases of several nodes, and no node has its name.
[[nodiscard]] const Operator& graph_operator();

/// The program of a case that classify() has read: null for other operators. Valid as long as `lowered`.
[[nodiscard]] const GraphProgram* graph_program_of(const Lowered& lowered);

}  // namespace qconform
