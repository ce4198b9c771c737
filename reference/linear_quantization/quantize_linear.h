// QuantizeLinear: y = clamp(rne(x / y_scale) + y_zero_point), at every version from 10 to 25. Its operands, its scalar
// code, the arithmetics in which it may divide, and its right values.
//
// The versions differ in the types they take, and in what they say of the division's precision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/linear_quantization/linear_quantization.h"
#include "reference/numerics/element.h"
#include "reference/numerics/floats.h"

namespace qconform::reference {

/// Everything but the data of x. Scales are finite and not zero.
struct QuantizeLinear {
  QuantizationLayout layout;
  ElementType x_type = ElementType::float32;       ///< float32, float16, bfloat16 or int32
  ElementType scale_type = ElementType::float32;   ///< float32, float16, bfloat16, int32 or float8e8m0
  ElementType y_type = ElementType::uint8;         ///< an integer of 2 to 16 bits, a float8 or float4e2m1
  ElementType precision = ElementType::undefined;  ///< a float type to divide in; none: the version's own
  bool saturate = true;                            ///< float8 y: overflow gives the largest number
  int version = 13;                                ///< the operator's version
  std::vector<double> y_scale;                     ///< one per parameter of the layout, exact
  std::vector<std::int32_t> y_zero_point;  ///< one per parameter of the layout, in range_of(y_type); 0 for float y
};

/// The type that the reference divides in: `precision`, or the scale's type; where the scale has none
/// to divide in, the type of x; float32 for integers.
[[nodiscard]] ElementType division_type(const QuantizeLinear& node);

/// One element divided in float32: the quotient RN32(x / scale) rounded to an integer, ties to even,
/// before the zero point is added (rules Q1, Q2); saturated (Q4). NaN gives the zero point, one of the
/// values that rule Q5 admits. `range` is that of an integer type of at most 16 bits.
[[nodiscard]] std::int32_t quantize(float x, float scale, std::int32_t zero_point, IntegerRange range);

/// The reference. x holds layout.elements() values of x_type (little endian), y room for as many of
/// y_type, packed as ONNX packs them. Where rules leave the answer open, it takes the first one that
/// they name: x is rounded to division_type(), divided, and the quotient rounded to it.
void quantize_linear(const QuantizeLinear& node, std::span<const std::byte> x, std::span<std::byte> y);

/// Every right output for one element: x as its bit pattern, with the scale and zero point of
/// `parameter`. Rules Q1 and Q3 to Q6, Q8 and, for odd scales, C21.
[[nodiscard]] RightValues admissible_quantize(const QuantizeLinear& node, std::uint64_t x_bits, std::size_t parameter,
                                              Wording wording);

// The arithmetics of the division.

enum class DivisionMethod : std::uint8_t {
  exact,             ///< the rational x / s
  once,              ///< RN(x / s)
  operands_rounded,  ///< RN(RN(x) / RN(s))
  reciprocal,        ///< RN(RN(x) * RN(1 / RN(s)))
};

struct Division {
  DivisionMethod method;
  ElementType type;  ///< type that RN rounds to; meaningless for `exact`
  const char* rule;  ///< rule that allows it
};

/// A result of a division, before it is rounded to y's type.
struct Quotient {
  enum class Kind : std::uint8_t { finite, infinite, nan };
  Kind kind;
  Ratio value;  ///< finite: the value; infinite: the sign alone

  [[nodiscard]] bool is_zero() const { return kind == Kind::finite && value.is_zero(); }
};

[[nodiscard]] Quotient divide(const Division& division, double x, double scale);

/// The divisions that rules Q1, Q3 and Q6 allow a node; the first is the reference's.
class Divisions {
 public:
  Divisions(const QuantizeLinear& node, Wording wording);
  [[nodiscard]] std::span<const Division> list() const& { return {divisions_.data(), count_}; }
  void list() const&& = delete;  // the list would outlive its elements
  [[nodiscard]] Division first() const { return divisions_[0]; }

 private:
  void add(DivisionMethod method, ElementType type, const char* rule) { divisions_[count_++] = {method, type, rule}; }

  std::array<Division, 8> divisions_{};
  std::size_t count_ = 0;
};

// QuantizeLinear's last step: from a quotient to a stored element of y.

/// rne(quotient) + zero point, saturated, for integer y; the nearest number for float y. NaN gives
/// the zero point, or NaN.
[[nodiscard]] std::uint64_t output_bits(const QuantizeLinear& node, std::size_t parameter, const Quotient& quotient);

/// The other neighbour of an integer quotient that is a tie; output_bits() when it is none. Integer y.
[[nodiscard]] std::uint64_t other_output_bits(const QuantizeLinear& node, std::size_t parameter,
                                              const Quotient& quotient);

/// Whether the reference divides in float32 without conversions: for integer y, quantize() gives the elements.
[[nodiscard]] bool divides_in_float32(const QuantizeLinear& node);

}  // namespace qconform::reference
