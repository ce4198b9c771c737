// Known facts about the values of a graph and of the graphs nested in its nodes, and the check that a graph computes
// each value once and without cycles.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/element_type.h"
#include "harness/core/tensor.h"

namespace onnx {

class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
class ValueInfoProto;

}  // namespace onnx

namespace qconform {

/// Dimensions; nullopt where one is not known.
using PartialShape = std::vector<std::optional<std::int64_t>>;

struct ValueFacts {
  ElementType type = ElementType::undefined;
  std::optional<PartialShape> shape;  ///< nullopt when not even the rank is known
};

/// Returns what a graph declares of an input, output or value; type undefined where it is no tensor.
[[nodiscard]] ValueFacts facts_of(const onnx::ValueInfoProto& info);

/// The shape if every dimension is known.
[[nodiscard]] std::optional<std::vector<std::int64_t>> full_shape(const std::optional<PartialShape>& shape);

/// The size assumed for an unknown first dimension of a graph's input: a batch of one.
inline constexpr std::int64_t kAssumedBatch = 1;

/// One graph. Names resolve here first, then in the graph around it. Refers to the graph's messages.
class GraphScope {
 public:
  /// Takes in initializers, Constant nodes, and the declared types of inputs, outputs and values; then, in the same
  /// way, the bodies of If, Loop and Scan nodes. A symbolic or unknown first dimension of a graph input (the batch)
  /// becomes kAssumedBatch. `graph` lives longer than the scope.
  explicit GraphScope(const onnx::GraphProto& graph, const GraphScope* outer = nullptr);

  [[nodiscard]] const onnx::GraphProto& graph() const { return graph_; }
  [[nodiscard]] const std::vector<std::unique_ptr<GraphScope>>& bodies() const { return bodies_; }
  [[nodiscard]] std::vector<std::unique_ptr<GraphScope>>& bodies() { return bodies_; }

  /// The constant of that name, or null.
  [[nodiscard]] const onnx::TensorProto* constant(const std::string& name) const;
  /// The known type and shape of a value, constants included.
  [[nodiscard]] ValueFacts facts(const std::string& name) const;

  /// Adds a constant that follows from others.
  void add_constant(const std::string& name, const Tensor& value);
  /// Adds another name for a constant that is there already.
  void add_constant(const std::string& name, const onnx::TensorProto& same);

  /// Forgets what was learnt, and takes an unknown first dimension of each graph input for `size`.
  void assume_first_dimension(std::int64_t size);
  /// The size that was taken, where an input of this graph or of its bodies has such a dimension.
  [[nodiscard]] std::optional<std::int64_t> assumed_first_dimension() const;

  /// Adds to what is known. Known types and dimensions stay. True when something new was learnt.
  bool learn(const std::string& name, const ValueFacts& facts);
  /// Learns everything that `inferred`, the same graph after shape inference, states about its values.
  bool learn_from(const onnx::GraphProto& inferred);
  /// States what is known in a copy of the graph, for shape inference to start from.
  void write_to(onnx::GraphProto& copy) const;

 private:
  void read_constants();
  void read_declared();
  void read_inputs();

  const onnx::GraphProto& graph_;
  const GraphScope* outer_;
  std::map<std::string, const onnx::TensorProto*> constants_;
  std::vector<std::shared_ptr<const onnx::TensorProto>> derived_;  // constants that the graph does not hold
  std::int64_t first_dimension_ = kAssumedBatch;
  bool assumes_first_dimension_ = false;
  std::map<std::string, ValueFacts> values_;
  std::vector<std::unique_ptr<GraphScope>> bodies_;  // in the order of bodies_of()
};

/// The graphs nested in the graph's nodes, in a fixed order.
[[nodiscard]] std::vector<const onnx::GraphProto*> bodies_of(const onnx::GraphProto& graph);

// Conditions that every graph of a model must meet before anything is made of it.

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
