// How the nodes of a graph become steps of a program: the program in the making, one node with its operands and
// attributes, and the operators with the functions that lower them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/core/tensor.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/family.h"

namespace qconform::lowering {

using reference::graph::Shape;
using reference::graph::ValueId;

/// The program while nodes are added to it.
class ProgramBuilder {
 public:
  /// Takes in the case's tensors. Both are referred to.
  ProgramBuilder(const Case& test_case, reference::Contract& contract);

  /// Takes in all tensors of the case. False, with a remark, where the tensors alone are too many.
  [[nodiscard]] bool read_tensors();
  /// Takes in one tensor of the case. False, with a remark, where it makes them too many or cannot be held.
  [[nodiscard]] bool read_tensor(std::size_t input);
  [[nodiscard]] bool name_outputs();
  [[nodiscard]] GraphProgram take() { return std::move(out_); }

  /// Makes room for one node more; references to values end.
  void make_room();
  /// Makes room for a case that grows to so many tensors and nodes: references to values stay as they are.
  void reserve(std::size_t tensors, std::size_t nodes);
  [[nodiscard]] const GraphProgram& program() const { return out_; }
  [[nodiscard]] ValueId id_of(const std::string& name) const { return ids_.at(name); }
  [[nodiscard]] bool is_exact(ValueId id) const { return facts_[id].is_exact; }

  /// How far the program is, to go back to.
  struct Mark {
    std::size_t values;
    std::size_t steps;
    std::size_t constants;
    std::size_t inner_nodes;
    std::size_t implementation_defined;
    std::int64_t elements;
    bool may_be_exact;
    bool value_is_open;
  };
  [[nodiscard]] Mark mark() const;
  /// Forgets what was added since, a violation too. The case still has the names.
  void go_back(const Mark& mark);

 private:
  friend class NodeLowering;

  // Holds the facts about a value that its program does not say.
  struct Facts {
    const Tensor* stated = nullptr;  // null: computed
    std::optional<std::size_t> step;
    bool is_exact = true;  // its stated elements are doubles: not integers beyond 2^53
  };

  ValueId add(std::string name, ElementType type, Shape shape);
  bool state(ValueId id, const Tensor& tensor, const std::string& field);
  bool claim(std::int64_t elements, const std::string& field);
  bool claim(const Shape& shape, const std::string& field);

  const Case& case_;
  reference::Contract& contract_;
  GraphProgram out_;
  std::vector<Facts> facts_;
  std::unordered_map<std::string_view, ValueId> ids_;
  std::deque<Tensor> constants_;  // the tensors of Constant nodes
  std::deque<Node> inner_nodes_;  // what stands for operators that others define
  std::int64_t elements_ = 0;
};

/// Adds `node`, which is or stands for node `index` of the builder's case. False, with a remark, where it is out of
/// contract.
[[nodiscard]] bool lower_node(ProgramBuilder& builder, const Node& node, std::size_t index,
                              reference::Contract& contract);

/// One node. Its functions that return bool or optional leave a remark where they fail, as Contract::violate() does.
class NodeLowering {
 public:
  NodeLowering(ProgramBuilder& builder, std::size_t index) : NodeLowering(builder, builder.case_.nodes[index], index) {}
  /// `node` stands for node `index` of the case, or for a part of it.
  NodeLowering(ProgramBuilder& builder, const Node& node, std::size_t index)
      : builder_(builder), node_(node), index_(index) {}

  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] std::int64_t opset() const { return node_.opset_version; }

  // Remarks; `field` is an attribute or input.
  bool violate(std::string_view field, std::string message) const { return remark(node_.op_type, field, message); }
  bool signature(std::string_view field, std::string message) const { return remark("signature", field, message); }
  bool limit(std::string_view field, std::string message) const { return remark("limit", field, message); }
  void allow(std::string_view field, std::string message) const;
  /// Takes over what was said of a part of the node. Returns whether it holds.
  bool absorb(reference::Contract part) const;
  [[nodiscard]] std::string field(std::string_view name) const;

  // Inputs by position.
  [[nodiscard]] std::size_t inputs() const { return node_.inputs.size(); }
  [[nodiscard]] bool has(std::size_t input) const { return input < inputs() && !node_.inputs[input].empty(); }
  [[nodiscard]] ValueId id(std::size_t input) const { return builder_.ids_.at(node_.inputs[input]); }
  [[nodiscard]] ElementType type(std::size_t input) const { return type_of(id(input)); }
  [[nodiscard]] ElementType type_of(ValueId value) const { return builder_.out_.types[value]; }
  [[nodiscard]] const Shape& shape_of(ValueId value) const { return builder_.out_.program.values[value].shape; }
  [[nodiscard]] ValueId id_of(const std::string& name) const { return builder_.ids_.at(name); }
  [[nodiscard]] const Tensor* stated_tensor(ValueId value) const { return builder_.facts_[value].stated; }
  [[nodiscard]] const Shape& shape(std::size_t input) const { return shape_of(id(input)); }
  /// The tensor that states it; null, with a remark, of a computed one.
  [[nodiscard]] const Tensor* stated(std::size_t input, std::string_view name) const;
  /// Stated integers of type int64, or int32 where `narrow`.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t input, std::string_view name,
                                                                  bool narrow = false) const;
  /// Those of an attribute, or of input `input`; empty in the second sense where there are none.
  [[nodiscard]] std::optional<std::optional<std::vector<std::int64_t>>> attribute_or_input(std::string_view name,
                                                                                           std::size_t input) const;
  /// `values` as axes, none of them twice.
  [[nodiscard]] std::optional<std::vector<std::size_t>> axes(const std::vector<std::int64_t>& values, std::size_t rank,
                                                             std::string_view name) const;
  /// One stated element.
  [[nodiscard]] std::optional<double> number(std::size_t input, std::string_view name) const;

  // Attributes, whose types have been checked.
  [[nodiscard]] const Attribute* attribute(std::string_view name) const { return node_.attribute(name); }
  template <typename T>
  [[nodiscard]] const T* get(std::string_view name) const {
    return node_.get<T>(name);
  }
  template <typename T>
  [[nodiscard]] T get_or(std::string_view name, T absent) const {
    return node_.get_or(name, std::move(absent));
  }

  /// `value` as an axis of `rank`, counted from the end where negative (implementation-defined before opset 11); in [0,
  /// rank).
  [[nodiscard]] std::optional<std::size_t> axis(std::int64_t value, std::size_t rank, std::string_view name) const;

  /// Returns the number of elements of a shape, all within the limit; to be asked before anything of that size is made.
  [[nodiscard]] std::optional<std::size_t> claim(const Shape& shape) const;
  /// Claims a list of `count` taps; false, with a remark, beyond the limit. To be asked before the list is made.
  [[nodiscard]] bool claim_taps(std::int64_t count) const;

  /// Adds a step for output `output` of the node, with the type of input 0 unless stated.
  template <typename What>
  bool emit(What what, std::vector<ValueId> operands, Shape shape, std::optional<ElementType> type = {},
            std::size_t output = 0) const {
    return add_step({std::move(what), std::move(operands), 0, index_}, std::move(shape), type, output);
  }
  /// Adds a step whose value the case does not name; nothing, with a remark, where it is too large.
  template <typename What>
  [[nodiscard]] std::optional<ValueId> compute(What what, std::vector<ValueId> operands, const Shape& shape,
                                               ElementType type) const {
    return add_inner({std::move(what), std::move(operands), 0, index_}, shape, type);
  }
  /// Moves input 0 to an output: element i is element index[i].
  bool emit_move(Shape shape, std::vector<std::int64_t> index, std::size_t output = 0) const;
  /// Gives output 0 the elements of input 0 under another shape.
  bool emit_same(Shape shape) const {
    return claim(shape) && emit(reference::graph::Move{}, {id(0)}, std::move(shape));
  }

  /// A value that the program states beside the case's.
  [[nodiscard]] ValueId add_stated(ElementType type, Shape shape, std::vector<double> elements) const;
  /// Returns the name of a further value of the program, which no case may have.
  [[nodiscard]] std::string inner_name() const;
  /// Gives a value that the case does not name a name, for inner nodes.
  [[nodiscard]] std::string named(ValueId value) const;
  /// Returns the name of a tensor that the program states beside the case's; empty, with a remark, where it is too
  /// large.
  [[nodiscard]] std::string add_constant(Tensor tensor) const;
  /// Notes that a backend shows the value: as the elements of value `shown`, an output, from `first` on.
  void is_shown_by(ValueId value, ValueId shown, std::int64_t first) const {
    builder_.out_.shown.push_back({value, shown, first});
  }
  /// Lowers a node of ONNX's own domain that does a part of this one's work.
  [[nodiscard]] bool lower_inner(Node node) const;
  /// Gives output 0 this tensor: a Constant.
  bool emit_constant(Tensor tensor) const;
  /// Lets the tensor that states input 0 state output 0: an Identity.
  void keep_stated() const;

  /// Notes that the step rounds whatever its numbers are: no value of the program is exact.
  void rounds() const { builder_.out_.program.may_be_exact = false; }
  /// Notes that the step rounds, unless this factor is a power of two within the domain of scales, or its negative.
  void multiplies_by(double factor) const;
  /// Notes that the step rounds, unless every scale is a power of two within the domain of scales and positive.
  void scales_by(const std::vector<double>& scales) const;
  void leaves_value_open() const { builder_.out_.value_is_open = true; }
  /// The scale by which element `index` of a value was dequantized, if only movement lies between; otherwise 0.
  [[nodiscard]] double scale_of(ValueId id, std::int64_t index) const;
  /// Whether every int32 bias that this sum adds has the scale of its products (condition (b) of exact values).
  void check_bias_scales(const reference::graph::WeightedSum& sum, const std::vector<ValueId>& operands,
                         std::size_t outputs) const;

 private:
  bool remark(std::string rule, std::string_view field, std::string message) const;
  bool add_step(reference::graph::Step step, Shape shape, std::optional<ElementType> type, std::size_t output) const;
  [[nodiscard]] std::optional<ValueId> add_inner(reference::graph::Step step, const Shape& shape,
                                                 ElementType type) const;
  [[nodiscard]] bool comes_from_int32(ValueId id) const;

  ProgramBuilder& builder_;
  const Node& node_;
  std::size_t index_;
};

/// An operator that others define, written down as these: node by node, each lowered at once. After one that is out of
/// contract nothing is added any more.
class Expansion {
 public:
  /// Inner nodes have this opset version unless they say another.
  static constexpr std::int64_t kOpset = 21;

  explicit Expansion(const NodeLowering& node) : node_(node) {}

  /// The node's input; "" where it is omitted.
  [[nodiscard]] std::string input(std::size_t position) const;
  /// The input, which the case states: a scalar where it has one element.
  [[nodiscard]] std::string parameter(std::size_t position, std::string_view name);
  /// The input, which is there, has one element.
  void expect_one(std::size_t position, std::string_view name);
  [[nodiscard]] std::string constant(Tensor tensor);
  /// Returns the name of the output.
  std::string add(std::string op_type, std::vector<std::string> inputs, std::vector<Attribute> attributes = {},
                  std::int64_t opset = kOpset);
  /// Adds a Reshape to stated sizes.
  std::string reshaped(const std::string& value, const std::vector<std::int64_t>& sizes);
  /// Either of two values of one type and shape: the text leaves open which.
  std::string either(const std::string& first, const std::string& second);
  /// Adds a node of several outputs, and returns their names.
  std::vector<std::string> add_all(std::string op_type, std::vector<std::string> inputs, std::size_t outputs,
                                   std::vector<Attribute> attributes = {});
  /// Adds the inner node whose output is the node's own. Returns whether all are within the contract.
  [[nodiscard]] bool finish(std::string op_type, std::vector<std::string> inputs,
                            std::vector<Attribute> attributes = {}, std::int64_t opset = kOpset);
  /// Gives the value to the node.
  [[nodiscard]] bool finish_with(const std::string& value) { return finish("Identity", {value}); }

  [[nodiscard]] bool is_right() const { return is_right_; }
  /// Notes that a part is out of contract, as a remark says. Returns no name.
  std::string give_up() {
    is_right_ = false;
    return {};
  }
  [[nodiscard]] ElementType type(const std::string& value) const;
  [[nodiscard]] Shape shape(const std::string& value) const;

 private:
  bool lower(std::string op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
             std::vector<Attribute> attributes, std::int64_t opset);

  const NodeLowering& node_;
  bool is_right_ = true;
};

// Index lists in row-major order of an output, and the taps of products.

/// How far apart neighbours along each axis lie.
[[nodiscard]] std::vector<std::int64_t> strides_of(const Shape& shape);
/// offset + the sum of digit * stride.
[[nodiscard]] std::vector<std::int64_t> strided(const Shape& shape, const std::vector<std::int64_t>& strides,
                                                std::int64_t offset = 0);
/// Returns the indices in a tensor of shape `from` of the elements at positions[axis][digit]; -1 where one of these is.
[[nodiscard]] std::vector<std::int64_t> gathered(const Shape& from,
                                                 const std::vector<std::vector<std::int64_t>>& positions);
/// Returns, for each element of `shape`, the element of a tensor of shape `from` that it is broadcast from; empty where
/// each has the same index.
[[nodiscard]] std::vector<std::int64_t> broadcast_index(const Shape& from, const Shape& shape);
/// NumPy's common shape; nullopt where there is none.
[[nodiscard]] std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b);
/// begin, begin + step, ...
[[nodiscard]] std::vector<std::int64_t> counted(std::int64_t count, std::int64_t begin = 0, std::int64_t step = 1);
/// Returns number `at` of a row of packed bytes that begins at byte `first`: numbers of `bits` bits, 1, 2, 4 or 8, the
/// low bits first.
[[nodiscard]] std::int64_t packed_number(const Tensor& bytes, std::int64_t first, std::int64_t at, std::int64_t bits);

/// The product a . b, as MatMul has it.
struct MatrixProduct {
  reference::graph::MatrixTaps taps;
  Shape shape;
};
/// Returns the product of operands of these shapes; nothing, with a remark, where they do not fit or are too large.
[[nodiscard]] std::optional<MatrixProduct> matrix_product(const NodeLowering& node, Shape a, Shape b);

// The operators that graphs may have: each version with what ONNX lets it take, and how it is lowered.

inline constexpr std::size_t kFloatAttribute = 1;
inline constexpr std::size_t kFloatsAttribute = 4;
inline constexpr std::size_t kStringsAttribute = 5;
inline constexpr std::size_t kAnyNumber = 64;  ///< any number of inputs or outputs: limits::kInputs

struct NodeOperator {
  std::string_view name;
  std::int64_t since;  ///< the opset that brought this version; the first one here is in force at opset 10
  std::size_t least_inputs;
  std::size_t most_inputs;
  TypeSet types;  ///< the types of input 0, and of all others in `like_first`
  std::span<const AttributeSignature> attributes;
  /// Its inputs and attributes are right in number and type.
  bool (*lower)(const NodeLowering& node);
  /// Bits of the inputs that have the type of input 0; bit 31 stands for all from there on.
  std::uint32_t like_first = 0xFFFFFFFF;
  /// Computes: judged in float32, float16 and bfloat16 alone, and where `wraps` in int32.
  bool computes = false;
  std::size_t most_outputs = 1;
  /// The family of the single operator checks everything.
  bool is_single_operator = false;
  std::string_view domain = {};  ///< "" is ONNX's own
  bool is_quantized = false;     ///< a case of one such node is a test of quantized arithmetic
  bool wraps = false;            ///< int32 too is judged, modulo 2^32
  std::uint32_t optional = 0;    ///< bits of inputs among the least number that may be omitted
};

/// Returns a row of ONNX's own domain whose further members are those above; a maker sets what differs.
[[nodiscard]] constexpr NodeOperator node_operator(std::string_view name, std::int64_t since, TypeSet types,
                                                   std::size_t least_inputs, std::size_t most_inputs,
                                                   std::span<const AttributeSignature> attributes,
                                                   bool (*lower)(const NodeLowering&)) {
  return {.name = name,
          .since = since,
          .least_inputs = least_inputs,
          .most_inputs = most_inputs,
          .types = types,
          .attributes = attributes,
          .lower = lower};
}

// Each list is in ascending order of versions within a name.
[[nodiscard]] std::span<const NodeOperator> convolution_nodes();
[[nodiscard]] std::span<const NodeOperator> product_nodes();
[[nodiscard]] std::span<const NodeOperator> pool_nodes();
[[nodiscard]] std::span<const NodeOperator> reduction_nodes();
[[nodiscard]] std::span<const NodeOperator> elementwise_nodes();
[[nodiscard]] std::span<const NodeOperator> shape_nodes();
[[nodiscard]] std::span<const NodeOperator> movement_nodes();
[[nodiscard]] std::span<const NodeOperator> resize_nodes();
[[nodiscard]] std::span<const NodeOperator> quantization_nodes();
[[nodiscard]] std::span<const NodeOperator> integer_product_nodes();
[[nodiscard]] std::span<const NodeOperator> microsoft_nodes();
[[nodiscard]] std::span<const NodeOperator> normalization_nodes();
[[nodiscard]] std::span<const NodeOperator> recurrent_nodes();
[[nodiscard]] std::span<const NodeOperator> attention_nodes();
[[nodiscard]] std::span<const NodeOperator> expert_nodes();

/// Returns the operators of all the lists above.
[[nodiscard]] std::span<const std::span<const NodeOperator>> all_node_operators();
/// Returns the version of an operator that is in force; null where there is none.
[[nodiscard]] const NodeOperator* find_node_operator(std::string_view name, std::int64_t opset_version,
                                                     std::string_view domain = {});

// The type sets of ONNX's schemas.
namespace node_types {

using enum ElementType;

inline constexpr TypeSet kFloats{float32, float16, float64};
inline constexpr TypeSet kFloats13 = kFloats.with({bfloat16});
inline constexpr TypeSet kWide = kFloats.with({int32, int64, uint32, uint64});
inline constexpr TypeSet kWide13 = kWide.with({bfloat16});
inline constexpr TypeSet kNumbers = kWide.with({int8, uint8, int16, uint16});
inline constexpr TypeSet kNumbers13 = kNumbers.with({bfloat16});
inline constexpr TypeSet kSigned = kFloats.with({int8, int16, int32, int64});
inline constexpr TypeSet kSigned13 = kSigned.with({bfloat16});
inline constexpr TypeSet kStored = kNumbers.with({boolean, string});
inline constexpr TypeSet kAll = kStored.with({complex64, complex128});

/// The types with those that the releases up to an opset added to operators that move or convert data.
constexpr TypeSet grown(TypeSet types, std::int64_t opset) {
  if (opset >= 13) types = types.with({bfloat16});
  if (opset >= 19) types = types.with(kFloat8Types);
  if (opset >= 21) types = types.with({uint4, int4});
  if (opset >= 23) types = types.with({float4e2m1});
  if (opset >= 24) types = types.with({float8e8m0});
  if (opset >= 25) types = types.with({uint2, int2});
  return types;
}
inline constexpr TypeSet kAll13 = grown(kAll, 13);

}  // namespace node_types

}  // namespace qconform::lowering
