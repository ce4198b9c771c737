// The inputs of one quantized node of a model by the operator's names for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"
#include "harness/onnx/graph_scope.h"
#include "harness/operators/operator.h"

namespace onnx {
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace qconform {

/// Refers to all that it is made of.
struct NodeInputs {
  const onnx::NodeProto& node;
  const Operator& op;
  const GraphScope& scope;

  /// The model's name of the operator's input `name`; empty where it is omitted.
  [[nodiscard]] std::string value_of(std::string_view name) const;
  [[nodiscard]] ValueFacts facts(std::string_view name) const { return scope.facts(value_of(name)); }
  /// What is known of the node's output.
  [[nodiscard]] ValueFacts output() const;
  /// The constant, or null.
  [[nodiscard]] const onnx::TensorProto* constant(std::string_view name) const;
  [[nodiscard]] bool is_convolution() const;
  /// What the parameters of an element-wise operator are named after: "y" for QuantizeLinear, else "x".
  [[nodiscard]] std::string_view quantized() const;
};

/// The type of input `name`: the stated one, else one that fits its neighbours, else the usual one.
[[nodiscard]] ElementType type_of_input(const NodeInputs& inputs, std::string_view name);

struct InputShape {
  std::vector<std::int64_t> shape;
  std::string assumption;  ///< what the model does not tell, for the reader; may be empty
};

/// The shape of the data input. Dimensions that the model does not tell fit the weights or the parameters, and are
/// small: a batch of 1, 8 channels, 14 along each further axis, less where the tensor would have more than
/// kAssumedElements elements. Error: why no such shape can be found.
[[nodiscard]] Result<InputShape> shape_of_data(const NodeInputs& inputs);
inline constexpr std::int64_t kAssumedElements = std::int64_t{1} << 17;

/// The shape of a weight, bias, scale or zero point. A scale and the zero point beside it have one shape; a bias has as
/// many elements as there are output channels. What nothing tells is a scalar. Error as above.
[[nodiscard]] Result<std::vector<std::int64_t>> shape_of_parameter(const NodeInputs& inputs, std::string_view name);

}  // namespace qconform
