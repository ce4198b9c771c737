// Nodes of an ONNX graph to and from the parts of a Case.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"

namespace onnx {

class AttributeProto;
class GraphProto;
class ModelProto;
class NodeProto;

}  // namespace onnx

namespace qconform {

/// The value that a node's input name stands for; an error where there is none.
using ValueLookup = std::function<Result<Tensor>(const std::string& name)>;

/// The attributes in the node's order. A case holds int, float, string, ints and floats: others are
/// refused, as are references to a function's attributes and more values than limits.h allows.
[[nodiscard]] Result<std::vector<Attribute>> attributes_of(const onnx::NodeProto& node);

/// The opset version that the model imports for the node's domain ("" and "ai.onnx" are the same).
[[nodiscard]] Result<std::int64_t> opset_version_of(const onnx::ModelProto& model, const onnx::NodeProto& node);

/// Operator, version and attributes, without the names of values. Refused: what attributes_of and opset_version_of
/// refuse.
[[nodiscard]] Result<Node> node_from_proto(const onnx::ModelProto& model, const onnx::NodeProto& proto);

/// A case of the node alone: operator, version, attributes and inputs; everything else keeps its default. Refused: more
/// than one output, and what node_from_proto and `lookup` refuse.
[[nodiscard]] Result<Case> case_from_node(const onnx::ModelProto& model, const onnx::NodeProto& node,
                                          const ValueLookup& lookup);

/// The name of each tensor of the case: the graph's where there are several nodes; otherwise the operator's own
/// ("x_scale"), "input_3" for others, "" for omitted ones.
[[nodiscard]] std::vector<std::string> input_names(const Case& test_case);

/// The names of the case's outputs: kOutputName where there is one node.
[[nodiscard]] std::vector<std::string> output_names(const Case& test_case);

/// The case's nodes, with those names. Refuses what exceeds limits.h or is not wired, because it could not be read
/// again.
[[nodiscard]] Result<void> write_nodes(const Case& test_case, onnx::GraphProto& graph);

inline constexpr const char* kOutputName = "y";

// Attributes of a node by name.

/// The attribute of that name, or null.
[[nodiscard]] const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);

/// An int attribute of the node, or `absent`.
[[nodiscard]] std::int64_t int_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t absent);

/// The values of an ints attribute; nullopt where there is none, or more values than limits.h allows.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ints_attribute(const onnx::NodeProto& node,
                                                                      std::string_view name);

}  // namespace qconform
