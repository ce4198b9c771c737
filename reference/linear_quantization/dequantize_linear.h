// DequantizeLinear: y = (x - x_zero_point) * x_scale, at every version from 10 to 25. Its operands, its scalar code,
// the arithmetics in which it may form the product, and its right values.
//
// The versions differ in the types they take, and in what they say of the product's precision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/linear_quantization/linear_quantization.h"
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
[[nodiscard]] RightValues admissible_dequantize(const DequantizeLinear& node, std::uint64_t x_bits,
                                                std::size_t parameter, Wording wording);

/// x - zero point: exact, but for int32, where it wraps.
[[nodiscard]] double difference_of(ElementType type, double x, double zero_point);

// The arithmetics of the product.

enum class MultiplicationMethod : std::uint8_t {
  once,                ///< RN(d * s)
  difference_rounded,  ///< RN(RN(d) * s)
  operands_rounded,    ///< RN(RN(d) * RN(s))
  through_float32,     ///< RN(RN32(RN32(d) * s))
};

struct Multiplication {
  MultiplicationMethod method;
  const char* rule;  ///< rule that allows it
};

/// The multiplications that rules D1, D2 and D4 allow a node; the first is the reference's.
class Multiplications {
 public:
  explicit Multiplications(const DequantizeLinear& node);
  [[nodiscard]] std::span<const Multiplication> list() const& { return {multiplications_.data(), count_}; }
  void list() const&& = delete;  // the list would outlive its elements
  [[nodiscard]] Multiplication first() const { return multiplications_[0]; }

 private:
  void add(MultiplicationMethod method, const char* rule) { multiplications_[count_++] = {method, rule}; }

  std::array<Multiplication, 4> multiplications_{};
  std::size_t count_ = 0;
};

/// The product as a pattern of `type`, RN being the rounding to that type.
[[nodiscard]] std::uint64_t multiply(const Multiplication& multiplication, ElementType type, double difference,
                                     double scale);

}  // namespace qconform::reference
