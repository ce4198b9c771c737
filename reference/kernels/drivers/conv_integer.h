// ConvInteger for the optimized kernel sets: the blocked convolution with its sums as output.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "reference/kernels/drivers/layout.h"
#include "reference/kernels/kernels.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

/// The leaves must outlive the node. `layout` is that of x and y; w is always as ONNX has it.
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_blocked_conv_integer(const ConvInteger& node, ImageLayout layout,
                                                                         std::span<const std::byte> w,
                                                                         const ConvolutionLeaves& convolution);

}  // namespace qconform::reference
