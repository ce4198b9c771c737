// Facts about the values of a model, in its graph and the graphs nested in its nodes: stated ones, constants that
// follow, and shapes; and the check that a graph computes each value once and without cycles.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/tensor.h"
#include "harness/onnx/protobuf.h"

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

/// Whether the operator is quantized by its name, whatever its data: Q* (without QuickGelu, which is of floats),
/// Dequantize*, DynamicQuantize*, *Integer*, MatMulNBits and GatherBlockQuantized, in any domain.
[[nodiscard]] bool has_quantized_name(std::string_view op_type);

/// Puts the nodes of the model's own functions where they are called, also in bodies, with new names for their values
/// ("call/name"); functions of functions too. A function that imports another version of a domain than the model stays
/// with its calls. Errors: a function that calls itself; more nodes than can be meant (`limit`).
[[nodiscard]] Result<void> inline_functions(onnx::ModelProto& model);

/// Reads and parses a model, puts its functions in place, and checks its graphs: the way into qconform for models, with
/// parse_model(). Errors name the file.
[[nodiscard]] Result<void> read_model(const std::filesystem::path& file, onnx::ModelProto& model);
[[nodiscard]] Result<void> parse_model(std::string_view bytes, onnx::ModelProto& model);

// The values of a model that are constants although no initializer holds them, and casts of such tensors.

/// All of them together may have that many bytes; the values beyond count as computed at run time.
inline constexpr std::int64_t kFoldedBytes = std::int64_t{1} << 28;
/// Bytes of constants that are read for it, those that several nodes take counted for each.
inline constexpr std::int64_t kReadBytes = std::int64_t{1} << 30;

/// Adds to `scope` and its bodies the constants that nodes of operators which find_operator() knows, and others with a
/// quantized name, take, and that follow from initializers and Constant nodes by operators that move or convert data or
/// compute with two of them (value_of_node()).
/// Error: an initializer that is needed for it and cannot be read.
[[nodiscard]] Result<void> fold_constants(GraphScope& scope, const ExternalFolder& external);

/// Whether value_of_node() knows the node's operator.
[[nodiscard]] bool can_be_folded(const onnx::NodeProto& node);

/// The first output of the node for these inputs, null where one is omitted: Add, Cast, Concat, Constant (numbers as
/// attributes), ConstantOfShape, Div, Expand, Flatten, Gather, Identity, Mul, Reshape, Shape, Size, Slice, Squeeze,
/// Sub, Transpose and Unsqueeze, in all their versions. Arithmetic is that of the type: floats are rounded to nearest,
/// ties to even; integers wrap, and their quotients are cut; versions with attributes are left out. nullopt for other
/// operators, for nodes that ONNX does not allow, for results of more than `max_bytes`, and where a float result is not
/// finite or an integer one is not defined.
[[nodiscard]] std::optional<Tensor> value_of_node(const onnx::NodeProto& node, std::span<const Tensor* const> inputs,
                                                  std::int64_t max_bytes);

// ONNX's Cast of a tensor.

/// The tensor's values as `type`. Floats round to nearest, ties to even, on the way to floats, and towards zero on the
/// way to integers; integers that do not fit keep their low bits. Beyond the largest number of a float8 type lies that
/// number if `saturate`. nullopt for other types (complex, float8e8m0, strings), and where ONNX leaves the value open:
/// NaN and what does not fit, from a float to an integer.
[[nodiscard]] std::optional<Tensor> cast(const Tensor& tensor, ElementType type, bool saturate);

// ONNX's shape inference on models that are not trusted.

enum class InferenceErrors : std::uint8_t {
  pass_over,  ///< the library leaves out nodes that it cannot infer
  report,     ///< an error at any node is an error here
};

/// Runs onnx::shape_inference::InferShapes on `model` and adds what it finds. The library divides by
/// strides of zero and the like, so it runs in a child process with bounds on time and memory: what
/// goes wrong there is an error here, and the model stays as it was. Forks: call it before starting
/// threads.
[[nodiscard]] Result<void> infer_shapes_isolated(onnx::ModelProto& model,
                                                 InferenceErrors errors = InferenceErrors::pass_over);

// Shapes of every value of a model, as far as they can be found.

/// Fills `scope`, made from model.graph(), from ONNX's shape inference and from our own rules
/// (shape_propagation.cc) in turn, until neither finds anything new. Inference that fails is left out:
/// then our rules alone speak.
///
/// An unknown first dimension of the model's inputs is a batch of 1. Where a convolution's window is larger than what
/// comes of that, the model has no batch: the dimension becomes the first of 4, 16, ... 4096 that all windows fit, if
/// there is one.
void propagate_shapes(const onnx::ModelProto& model, GraphScope& scope);

// qconform's own rules for shapes.

/// The facts about the node's first output that follow from those about its inputs, for operators that ONNX's shape
/// inference does not know: quantized ones of the domain com.microsoft, and those whose inference in the installed
/// library stops short. Empty for other operators, and where too little is known or the node is wrong.
[[nodiscard]] ValueFacts facts_of_output(const onnx::NodeProto& node, const GraphScope& scope);

/// The extent of a convolution's window in spatial dimension `axis`: (kernel - 1) * dilation + 1;
/// nullopt where the node is wrong or the extent exceeds the limit on elements.
[[nodiscard]] std::optional<std::int64_t> window_extent(const onnx::NodeProto& node, std::int64_t kernel,
                                                        std::size_t axis);

/// Whether the node is a convolution whose window is larger than its input with the padding (rule C6), as far as both
/// are known.
[[nodiscard]] bool window_exceeds_input(const onnx::NodeProto& node, const GraphScope& scope);

}  // namespace qconform
