// QuantizeLinear: y = clamp(rne(x / y_scale) + y_zero_point), at versions 10 and 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/linear_quantization/layout.h"
#include "reference/numerics/integer8.h"

namespace qconform::reference {

enum class QuantizeInput : std::uint8_t { float32, int32 };

/// Everything but the data of x. Scales are finite and not zero.
struct QuantizeLinear {
  QuantizationLayout layout;
  QuantizeInput x_type = QuantizeInput::float32;
  Integer8 y_type = Integer8::uint8;
  std::vector<float> y_scale;              ///< one per channel of the layout
  std::vector<std::int32_t> y_zero_point;  ///< likewise, in range_of(y_type)
};

/// One element: the quotient RN32(x / scale) rounded to an integer, ties to even, before the zero
/// point is added (rules Q1, Q2); saturated (Q4). NaN gives the zero point, one of the values that
/// rule Q5 admits.
[[nodiscard]] std::byte quantize(float x, float scale, std::int32_t zero_point, Integer8 type);

/// The reference. x holds layout.elements() values of x_type in little-endian order, y as many
/// bytes. int32 x is first rounded to float32, one of the answers that rule Q6 admits.
void quantize_linear(const QuantizeLinear& node, std::span<const std::byte> x, std::span<std::byte> y);

}  // namespace qconform::reference
