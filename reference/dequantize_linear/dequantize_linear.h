// DequantizeLinear: y = (x - x_zero_point) * x_scale, at every version from 10 to 25.
//
// The versions differ in the types they take, and in what they say of the product's precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/linear_quantization/admissible_bits.h"
#include "reference/linear_quantization/layout.h"
#include "reference/numerics/element.h"

namespace qconform::reference {

/// Everything but the data of x.
struct DequantizeLinear {
  QuantizationLayout layout;
  ElementType x_type = ElementType::uint8;        ///< an integer, a float8 or float4e2m1
  ElementType scale_type = ElementType::float32;  ///< float32, float16, bfloat16 or float8e8m0
  ElementType y_type = ElementType::float32;      ///< float32, float16 or bfloat16
  int version = 13;                               ///< the operator's version
  std::vector<double> x_scale;                    ///< one per parameter of the layout, exact
  std::vector<double> x_zero_point;               ///< one per parameter of the layout, values of x_type
};

/// The reference. x holds layout.elements() values of x_type (little endian, packed as ONNX packs
/// them), y room for as many of y_type. The difference is exact and the product rounded once (rules
/// D1, D4). The difference of int32 wraps, and is rounded to float32 before the product when y is float32: one of the
/// answers that rules D2 and D3 admit. So is that of float8, which has too many bits beside some zero points.
void dequantize_linear(const DequantizeLinear& node, std::span<const std::byte> x, std::span<std::byte> y);

/// Every right output for one element: x as its bit pattern, with the scale and zero point of
/// `parameter`. Rules D1 to D6. A zero point of int32 is subtracted in 32 bits, which may wrap, or in more; by
/// DirectML's wording also in float32.
[[nodiscard]] AdmissibleBits admissible_dequantize(const DequantizeLinear& node, std::uint64_t x_bits,
                                                   std::size_t parameter, Wording wording);

}  // namespace qconform::reference
