// QuantizeLinear for the optimized kernel sets.
#pragma once

#include <memory>

#include "reference/kernels/kernels.h"
#include "reference/quantize_linear/leaves.h"

namespace qconform::reference {

/// Null for what the leaves do not compute: blocked parameters and other types than those of float32 or int32 x with
/// 8-bit y. The leaves must outlive the node.
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_vectorized_quantize_linear(const QuantizeLinear& node,
                                                                               const QuantizeLeaves& leaves);

}  // namespace qconform::reference
