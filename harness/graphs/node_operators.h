// The operators that graphs may have: each version with what ONNX lets it take, and how it is lowered.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "harness/core/element_type.h"
#include "harness/graphs/node_lowering.h"
#include "harness/model/node_reader.h"

namespace qconform::lowering {

inline constexpr std::size_t kFloatAttribute = 1;
inline constexpr std::size_t kFloatsAttribute = 4;
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
  /// Computes: judged in float32, float16 and bfloat16 alone.
  bool computes = false;
  std::size_t most_outputs = 1;
  /// The family of the single operator checks everything.
  bool is_single_operator = false;
  std::string_view domain = {};  ///< "" is ONNX's own
  bool is_quantized = false;     ///< a case of one such node is a test of quantized arithmetic
};

// In ascending order of versions within a name.
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

/// Returns the operators of all the lists above.
[[nodiscard]] std::span<const std::span<const NodeOperator>> all_node_operators();
/// The product a . b, as MatMul has it.
struct MatrixProduct {
  reference::graph::MatrixTaps taps;
  Shape shape;
};
/// Returns the product of operands of these shapes; nothing, with a remark, where they do not fit or are too large.
[[nodiscard]] std::optional<MatrixProduct> matrix_product(const NodeLowering& node, Shape a, Shape b);

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
