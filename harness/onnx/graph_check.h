// Conditions that every graph of a model must meet before anything is made of it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/onnx/graph_scope.h"

namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
}  // namespace onnx

namespace qconform {

/// The graph's nodes by position, each behind those whose values it reads, itself or in its bodies; otherwise in the
/// graph's order. Errors, which name node and value: what check_graphs() refuses in this graph.
[[nodiscard]] Result<std::vector<int>> order_of(const onnx::GraphProto& graph);

/// Refuses, in the graph and in the bodies of its nodes, what is no ONNX: a value that two nodes compute, an input or
/// initializer that a node overwrites, and a value that depends on itself.
[[nodiscard]] Result<void> check_graphs(const onnx::GraphProto& graph);

/// Refuses a value whose known size exceeds limits.h; the error names the node that computes it.
[[nodiscard]] Result<void> check_sizes(const GraphScope& scope);

/// The names that the node reads: its inputs, and those that its bodies take from outside.
[[nodiscard]] std::vector<std::string_view> names_read_by(const onnx::NodeProto& node);

/// "node 'huge' (ConstantOfShape)"; of one without a name, "node 3 (Relu)".
[[nodiscard]] std::string label_of(const onnx::NodeProto& node, int position);

/// Reads and parses a model, and checks its graphs: the way into qconform for models, with parse_model(). Errors name
/// the file.
[[nodiscard]] Result<void> read_model(const std::filesystem::path& file, onnx::ModelProto& model);
[[nodiscard]] Result<void> parse_model(std::string_view bytes, onnx::ModelProto& model);

}  // namespace qconform
