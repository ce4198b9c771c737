// The reference's description of a node: everything but the data of its tensors.
#pragma once

#include <variant>

#include "harness/operators/convolution/convolution.h"
#include "harness/operators/linear/linear.h"

namespace qconform {

using NodeDescription = std::variant<const reference::QLinearConv*, const reference::ConvInteger*,
                                     const reference::QuantizeLinear*, const reference::DequantizeLinear*>;

[[nodiscard]] inline NodeDescription description_of(const Lowered& lowered) {
  if (const auto* node = qlinear_conv_of(lowered)) return node;
  if (const auto* node = conv_integer_of(lowered)) return node;
  if (const auto* node = quantize_linear_of(lowered)) return node;
  return dequantize_linear_of(lowered);
}

}  // namespace qconform
