// ConvInteger for the optimized kernel sets: the blocked convolution with its sums as output.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "reference/convolution/leaves.h"
#include "reference/kernels.h"

namespace qconform::reference {

/// The leaves must outlive the node.
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_blocked_conv_integer(const ConvInteger& node,
                                                                         std::span<const std::byte> w,
                                                                         const ConvolutionLeaves& convolution);

}  // namespace qconform::reference
