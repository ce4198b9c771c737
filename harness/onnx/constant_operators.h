// Operators that only move, repeat, describe or convert data, computed on constants.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "harness/core/tensor.h"

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

}  // namespace qconform
