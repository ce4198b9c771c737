// ConvInteger-10: convolution of 8-bit tensors into 32-bit sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "reference/convolution/accumulate.h"

namespace qconform::reference {

/// Everything but the data of x and w. ConvInteger has no bias: operands.bias is empty.
struct ConvInteger {
  ConvolutionOperands operands;
};

/// The reference: every sum exactly, then modulo 2^32 (rule C17). Sizes as the geometry states.
void conv_integer(const ConvInteger& node, std::span<const std::byte> x, std::span<const std::byte> w,
                  std::span<std::int32_t> y);

}  // namespace qconform::reference
