// Changes to graphs that keep them wired.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/case.h"
#include "harness/operators/graph/lowering.h"
#include "reference/graph/sets.h"

namespace qconform {

/// The graph without the nodes and tensors that its outputs do not need. A node that is left alone becomes a case of
/// one node, which has one output, unless it is a quantized operator that graphs alone have.
[[nodiscard]] Case pruned(Case test_case);

/// The graph with `value`, which a node computes, as a fed input in place of that node: one that only this value came
/// from goes, and all before it.
[[nodiscard]] Case fed_from(const Case& test_case, const std::string& value, Tensor tensor);

/// The graph with every reader of `value`, outputs of the graph too, reading `other` instead.
[[nodiscard]] Case rewired(Case test_case, std::string_view value, const std::string& other);

/// What the reference computes of a value: the exact one, rounded once.
[[nodiscard]] Tensor tensor_of(const reference::graph::Value& value, ElementType type,
                               const reference::graph::Bounds& exact);

}  // namespace qconform
