// Changes to graphs that keep them wired.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.h"
#include "harness/graphs/case_graph.h"
#include "reference/graph/sets.h"

namespace qconform {

/// The graph without the nodes and tensors that its outputs do not need. A node that is left alone and is judged by
/// itself stands in its own order (in_own_order()).
[[nodiscard]] Case pruned(Case test_case);

/// The graph with `value`, which a node computes, as a fed input in place of that node: one that only this value came
/// from goes, and all before it.
[[nodiscard]] Case fed_from(const Case& test_case, const std::string& value, Tensor tensor);

/// The graph with every reader of `value`, outputs of the graph too, reading `other` instead.
[[nodiscard]] Case rewired(Case test_case, std::string_view value, const std::string& other);

/// The pattern of a number in a type: rounded to nearest even in a float type; of an integer type it is a member.
[[nodiscard]] std::uint64_t pattern_of(ElementType type, double number);

/// Returns the tensor that the reference computes for a value: the exact numbers, rounded once.
[[nodiscard]] Tensor tensor_of(const reference::graph::Value& value, ElementType type,
                               const reference::graph::Bounds& exact);

// Rewritings use these functions to find nodes and put something else in their place. Names of values are the case's.

/// Returns the number of the node that computes a value; nothing for a tensor of the case.
[[nodiscard]] std::optional<std::size_t> maker_of(const Case& test_case, std::string_view value);
/// Returns the number of the node that computes a value, if it has this operator; otherwise nothing.
[[nodiscard]] std::optional<std::size_t> maker_of(const Case& test_case, std::string_view value,
                                                  std::string_view op_type);
/// Returns the numbers of the nodes that read a value, each once.
[[nodiscard]] std::vector<std::size_t> readers_of(const Case& test_case, std::string_view value);
[[nodiscard]] bool is_output(const Case& test_case, std::string_view value);
/// Returns the initializer of that name; null for a value that is fed or computed: an optimiser takes no constant for
/// granted.
[[nodiscard]] const Tensor* initializer_of(const Case& test_case, std::string_view value);
/// The version of ONNX's own domain in the graph; 21 where no node is of that.
[[nodiscard]] std::int64_t own_opset(const Case& test_case);
/// Adds an initializer, or in front of node `before` a node of ONNX's own domain with one output. Returns its name, a
/// new one.
[[nodiscard]] std::string add_initializer(Case& test_case, Tensor tensor);
[[nodiscard]] std::string add_integers(Case& test_case, const std::vector<std::int64_t>& values);  ///< a list of int64
[[nodiscard]] std::string add_node(Case& test_case, std::size_t before, std::string op_type,
                                   std::vector<std::string> inputs, std::vector<Attribute> attributes = {});
/// Input `position` of a node; empty where it is omitted.
[[nodiscard]] std::string input_of(const Node& node, std::size_t position);
void set_node_attribute(Node& node, std::string_view name, Attribute::Value value);

}  // namespace qconform
