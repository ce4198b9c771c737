// The drivers of the optimized kernel sets: ordinary code for any processor of the architecture. Preparing a node packs
// its weights; a run walks over x and y and lets the micro-kernels of one instruction set do the arithmetic.
//
// The micro-kernels must outlive the nodes. `layout` is that of x and y; w is always as ONNX has it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "reference/kernels/drivers/lowering.h"
#include "reference/kernels/kernels.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

[[nodiscard]] std::unique_ptr<PreparedNode> prepare_blocked_qlinear_conv(const QLinearConv& node,
                                                                         RoundingProfile profile, ImageLayout layout,
                                                                         std::span<const std::byte> w,
                                                                         const MicroKernels& micro_kernels);

[[nodiscard]] std::unique_ptr<PreparedNode> prepare_blocked_conv_integer(const ConvInteger& node, ImageLayout layout,
                                                                         std::span<const std::byte> w,
                                                                         const ConvolutionMicroKernels& micro_kernels);

/// Null for what the micro-kernels do not compute: blocked parameters and other types than those of float32 or int32 x
/// with 8-bit y.
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_vectorized_quantize_linear(
    const QuantizeLinear& node, const ElementwiseMicroKernels& micro_kernels);

/// Null for what the micro-kernels do not compute: blocked parameters and other types than those of 8-bit or int32 x
/// with float32 y.
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_vectorized_dequantize_linear(
    const DequantizeLinear& node, const ElementwiseMicroKernels& micro_kernels);

}  // namespace qconform::reference
