// QLinearConv-10: convolution of quantized tensors with a quantized result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/convolution/accumulate.h"
#include "reference/numerics/requantize.h"

namespace qconform::reference {

/// Everything but the data of x and w. Scales are finite, y_scale is not zero.
struct QLinearConv {
  ConvolutionOperands operands;
  ElementType y_type = ElementType::uint8;
  float x_scale = 1;
  std::vector<float> w_scale;  ///< one per output channel
  float y_scale = 1;
  std::int32_t y_zero_point = 0;  ///< in range_of(y_type)

  [[nodiscard]] Requantization requantization(std::size_t output_channel) const {
    return {x_scale, w_scale[output_channel], y_scale, y_zero_point, range_of(y_type)};
  }
};

/// The reference: every sum exactly, wrapped to the 32 bits that the specification gives the
/// accumulator (rule C17), then requantized under `profile`. Sizes as the geometry states.
void qlinear_conv(const QLinearConv& node, RoundingProfile profile, std::span<const std::byte> x,
                  std::span<const std::byte> w, std::span<std::byte> y);

/// The second half of qlinear_conv(): from the sums, one for each element of y.
void requantize_sums(const QLinearConv& node, RoundingProfile profile, std::span<const std::int64_t> sums,
                     std::span<std::byte> y);

}  // namespace qconform::reference
