// The inputs of one quantized node of a model by the operator's names for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/model/operator.h"
#include "harness/onnx/graph_scope.h"

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
  /// The known type and shape of the node's output.
  [[nodiscard]] ValueFacts output() const;
  /// The constant, or null.
  [[nodiscard]] const onnx::TensorProto* constant(std::string_view name) const;
  /// The name of the operator's first scale, which is that of its data or of its only quantized tensor; may be empty.
  [[nodiscard]] std::string_view scale() const;
};

/// The type of an input: the stated one, else one that fits its neighbours, else the usual one.
[[nodiscard]] ElementType type_of_input(const NodeInputs& inputs, const InputSignature& input);

struct InputShape {
  std::vector<std::int64_t> shape;
  std::string assumption;  ///< one line on what the model does not tell; may be empty
};

/// The shape of the data input `data`. Dimensions that the model does not tell fit the weights or the parameters, and
/// are small: see assumed_shape(). Error: why no such shape can be found.
[[nodiscard]] Result<InputShape> shape_of_data(const NodeInputs& inputs, const InputSignature& data);

/// The shape of a weight, bias, scale or zero point. A scale and the zero point beside it have one shape; a bias has as
/// many elements as there are output channels. What nothing tells is a scalar. Error as above.
[[nodiscard]] Result<std::vector<std::int64_t>> shape_of_parameter(const NodeInputs& inputs, std::string_view name);

// Helpers with which families find the shapes.

inline constexpr std::int64_t kAssumedElements = std::int64_t{1} << 17;

/// Fills what is unknown of a shape: a batch of 1, 8 channels, 14 along each further axis, less where the tensor would
/// have more than kAssumedElements elements. Sizes are at least `least`, where it says one.
[[nodiscard]] std::vector<std::int64_t> assumed_shape(const PartialShape& known,
                                                      const std::vector<std::int64_t>& least);

/// How many elements a tensor has; the largest int64 where they are more.
[[nodiscard]] std::int64_t saturated_elements(const std::vector<std::int64_t>& shape);

/// The shape that a scale and its zero point share, as far as either tells it; `parameter` names either.
[[nodiscard]] std::optional<PartialShape> parameter_facts(const NodeInputs& inputs, std::string_view parameter);

}  // namespace qconform
