// QLinearConv for the optimized kernel sets: the blocked convolution with requantized output.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "reference/kernels/drivers/layout.h"
#include "reference/kernels/kernels.h"
#include "reference/kernels/micro_kernels.h"
#include "reference/kernels/requantize_fast.h"

namespace qconform::reference {

/// The leaves must outlive the node. `layout` is that of x and y; w is always as ONNX has it.
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_blocked_qlinear_conv(const QLinearConv& node,
                                                                         RoundingProfile profile, ImageLayout layout,
                                                                         std::span<const std::byte> w,
                                                                         const ConvolutionLeaves& convolution,
                                                                         const RequantizeLeaves& requantize);

}  // namespace qconform::reference
