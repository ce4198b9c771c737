// DequantizeLinear: y = (x - x_zero_point) * x_scale in float32, at versions 10 and 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/linear_quantization/layout.h"

namespace qconform::reference {

enum class DequantizeInput : std::uint8_t { uint8, int8, int32 };

/// Everything but the data of x.
struct DequantizeLinear {
  QuantizationLayout layout;
  DequantizeInput x_type = DequantizeInput::uint8;
  std::vector<float> x_scale;              ///< one per channel of the layout
  std::vector<std::int32_t> x_zero_point;  ///< likewise; zero for int32 (rule D3)
};

/// The reference. x holds layout.elements() values of x_type (little endian), y as many floats.
/// 8-bit x: the difference is exact, so one rounding in all (rule D1). int32 x: RN32(RN32(x) *
/// scale), one of the answers that rule D2 admits.
void dequantize_linear(const DequantizeLinear& node, std::span<const std::byte> x, std::span<float> y);

}  // namespace qconform::reference
