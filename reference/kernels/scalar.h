// The scalar reference in the form of a kernel set. Preparing copies the description and the
// weights; nothing is packed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "reference/kernels/kernels.h"

namespace qconform::reference {

[[nodiscard]] std::unique_ptr<PreparedNode> prepare_scalar_qlinear_conv(const QLinearConv& node,
                                                                        RoundingProfile profile,
                                                                        std::span<const std::byte> w);
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_scalar_conv_integer(const ConvInteger& node,
                                                                        std::span<const std::byte> w);
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_scalar_quantize_linear(const QuantizeLinear& node);
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_scalar_dequantize_linear(const DequantizeLinear& node);

}  // namespace qconform::reference
