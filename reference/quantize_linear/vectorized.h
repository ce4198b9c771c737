// QuantizeLinear for the optimized kernel sets.
#pragma once

#include <memory>

#include "reference/kernels.h"
#include "reference/quantize_linear/leaves.h"

namespace qconform::reference {

/// The leaves must outlive the node.
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_vectorized_quantize_linear(const QuantizeLinear& node,
                                                                               const QuantizeLeaves& leaves);

}  // namespace qconform::reference
