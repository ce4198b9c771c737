// The integer sums of a convolution, exactly: the part that QLinearConv and ConvInteger share.
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

}  // namespace qconform::reference
