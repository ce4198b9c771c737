// DequantizeLinear for the optimized kernel sets.
#pragma once

#include <memory>

#include "reference/dequantize_linear/leaves.h"
#include "reference/kernels/kernels.h"

namespace qconform::reference {

/// Null for what the leaves do not compute: blocked parameters and other types than those of 8-bit or int32 x with
/// float32 y. The leaves must outlive the node.
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_vectorized_dequantize_linear(const DequantizeLinear& node,
                                                                                 const DequantizeLeaves& leaves);

}  // namespace qconform::reference
