// The values of a model that are constants although no initializer holds them, and casts of such tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "harness/base/error.h"
#include "harness/core/tensor.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/tensor_proto.h"

namespace qconform {

/// All of them together may have that many bytes; the values beyond count as computed at run time.
inline constexpr std::int64_t kFoldedBytes = std::int64_t{1} << 28;
/// Bytes of constants that are read for it, those that several nodes take counted for each.
inline constexpr std::int64_t kReadBytes = std::int64_t{1} << 30;

/// Adds to `scope` and its bodies the constants that nodes of operators which find_operator() knows take, and that
/// follow from initializers and Constant nodes by operators that move or convert data (value_of_node()).
/// Error: an initializer that is needed for it and cannot be read.
[[nodiscard]] Result<void> fold_constants(GraphScope& scope, const ExternalFolder& external);

}  // namespace qconform

namespace onnx {

class NodeProto;

}  // namespace onnx

namespace qconform {

/// Whether value_of_node() knows the node's operator.
[[nodiscard]] bool moves_data(const onnx::NodeProto& node);

/// The first output of the node for these inputs, null where one is omitted: Cast, Concat, Constant (numbers as
/// attributes), ConstantOfShape, Expand, Flatten, Gather, Identity, Reshape, Shape, Size, Slice, Squeeze, Transpose and
/// Unsqueeze, in all their versions. nullopt for other operators, for nodes that ONNX does not allow, and for results
/// of more than `max_bytes`.
[[nodiscard]] std::optional<Tensor> value_of_node(const onnx::NodeProto& node, std::span<const Tensor* const> inputs,
                                                  std::int64_t max_bytes);

// ONNX's Cast of a tensor.

/// The tensor's values as `type`. Floats round to nearest, ties to even, on the way to floats, and towards zero on the
/// way to integers; integers that do not fit keep their low bits. Beyond the largest number of a float8 type lies that
/// number if `saturate`. nullopt for other types (complex, float8e8m0, strings), and where ONNX leaves the value open:
/// NaN and what does not fit, from a float to an integer.
[[nodiscard]] std::optional<Tensor> cast(const Tensor& tensor, ElementType type, bool saturate);

}  // namespace qconform
