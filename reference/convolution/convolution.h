// QLinearConv and ConvInteger: their operands, their scalar code, and the exact sums that they share.
//
//   acc[n, m, o] = sum over channels and taps of (x - x_zero_point) * (w - w_zero_point[m])
//
// A tap in the padding contributes exactly zero (rule C1): the padding value is the zero point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/convolution/geometry.h"
#include "reference/numerics/element.h"
#include "reference/numerics/requantize.h"

namespace qconform::reference {

/// Shapes, types and integer parameters of a convolution; the data of x and w come separately.
struct ConvolutionOperands {
  ConvolutionGeometry geometry;
  ElementType x_type = ElementType::uint8;
  ElementType w_type = ElementType::uint8;
  std::int32_t x_zero_point = 0;           ///< in range_of(x_type)
  std::vector<std::int32_t> w_zero_point;  ///< one per output channel, in range_of(w_type)
  std::vector<std::int32_t> bias;          ///< one per output channel, or empty for none
};

/// Writes acc + bias for every output element, in the order of y. Exact: |result| < 2^47.
/// x, w and sums have exactly the sizes that the geometry states.
void accumulate(const ConvolutionOperands& operands, std::span<const std::byte> x, std::span<const std::byte> w,
                std::span<std::int64_t> sums);

/// Writes the magnitudes of all products and of the bias, added up for every output element, in the order of y: S of
/// tier D (numerics/admissible.h).
void accumulate_magnitudes(const ConvolutionOperands& operands, std::span<const std::byte> x,
                           std::span<const std::byte> w, std::span<std::int64_t> sums);

// QLinearConv-10: convolution of quantized tensors with a quantized result.

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

/// The second half of qlinear_conv(), from the sums, one for each element of y: in doubles where these surely decide
/// (numerics/admissible.h).
void requantize_sums(const QLinearConv& node, RoundingProfile profile, std::span<const std::int64_t> sums,
                     std::span<std::byte> y);

// ConvInteger-10: convolution of 8-bit tensors into 32-bit sums.

/// Everything but the data of x and w. ConvInteger has no bias: operands.bias is empty.
struct ConvInteger {
  ConvolutionOperands operands;
};

/// The reference: every sum exactly, then modulo 2^32 (rule C17). Sizes as the geometry states.
void conv_integer(const ConvInteger& node, std::span<const std::byte> x, std::span<const std::byte> w,
                  std::span<std::int32_t> y);

}  // namespace qconform::reference
