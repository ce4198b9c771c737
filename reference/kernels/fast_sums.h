// The sums of convolution/accumulate.h, several products at a time: equal to them, and many times as fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "reference/convolution/accumulate.h"

namespace qconform::reference {

/// Equals accumulate().
void fast_sums(const ConvolutionOperands& operands, std::span<const std::byte> x, std::span<const std::byte> w,
               std::span<std::int64_t> sums);

/// Equals accumulate_magnitudes().
void fast_sums_of_magnitudes(const ConvolutionOperands& operands, std::span<const std::byte> x,
                             std::span<const std::byte> w, std::span<std::int64_t> sums);

}  // namespace qconform::reference
