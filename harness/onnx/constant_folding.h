// Which values of a model are constants, although no initializer holds them.
#pragma once

#include "harness/core/error.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/tensor_proto.h"

namespace qconform {

/// All of them together may have that many bytes; the values beyond count as computed at run time.
inline constexpr std::int64_t kFoldedBytes = std::int64_t{1} << 28;
/// Bytes of constants that are read for it, those that several nodes take counted for each.
inline constexpr std::int64_t kReadBytes = std::int64_t{1} << 30;

/// Adds to `scope` and its bodies the constants that nodes of operators which find_operator() knows take, and that
/// follow from initializers and Constant nodes by operators that move or convert data (constant_operators.h).
/// Error: an initializer that is needed for it and cannot be read.
[[nodiscard]] Result<void> fold_constants(GraphScope& scope, const ExternalFolder& external);

}  // namespace qconform
