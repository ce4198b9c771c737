#include "reference/dequantize_linear/multiplication.h"

#include <cmath>

#include "reference/numerics/round.h"
#include "reference/numerics/small_float.h"

namespace qconform::reference {
namespace {

// RN(a * b). IEEE's rules for infinities and NaN are the same in every format.
std::uint64_t rounded_product(const FloatFormat& format, double a, double b) {
  const bool is_finite = std::isfinite(a) && std::isfinite(b);
  return is_finite ? encode(format, product_of(a, b), Overflow::special) : encode(format, a * b, Overflow::special);
}

}  // namespace

double difference_of(ElementType type, double x, double zero_point) {
  const double difference = x - zero_point;
  if (type != ElementType::int32) return difference;
  return wrap_to_int32(static_cast<std::int64_t>(difference));
}

Multiplications::Multiplications(const DequantizeLinear& node) {
  const bool is_int32 = node.x_type == ElementType::int32;
  if (node.y_type == ElementType::float32) {
    // float32 holds every difference but those of int32, and of float8 with zero points far from x.
    const bool may_be_inexact = is_int32 || !is_integer(node.x_type);
    add(may_be_inexact ? MultiplicationMethod::difference_rounded : MultiplicationMethod::once, "D1");
    if (is_int32 ? node.version < 23 : may_be_inexact) add(MultiplicationMethod::once, is_int32 ? "D2" : "D3");
    return;
  }
  add(MultiplicationMethod::once, "D4");
  add(MultiplicationMethod::difference_rounded, "D4");
  if (node.scale_type != node.y_type) add(MultiplicationMethod::operands_rounded, "D4");
  // Before version 23 no text gives the product a precision: float32 is the evaluator's.
  if (is_int32 || node.version < 23) add(MultiplicationMethod::through_float32, is_int32 ? "D2" : "D4");
}

std::uint64_t multiply(const Multiplication& multiplication, ElementType type, double difference, double scale) {
  const FloatFormat& format = float_format(type);
  switch (multiplication.method) {
    case MultiplicationMethod::once: break;
    case MultiplicationMethod::difference_rounded:
      return rounded_product(format, rounded_to(format, difference), scale);
    case MultiplicationMethod::operands_rounded:
      return rounded_product(format, rounded_to(format, difference), rounded_to(format, scale));
    case MultiplicationMethod::through_float32: {
      const FloatFormat& float32 = float_format(ElementType::float32);
      const std::uint64_t product = rounded_product(float32, rounded_to(float32, difference), scale);
      return encode(format, decode(float32, product), Overflow::special);
    }
  }
  return rounded_product(format, difference, scale);
}

}  // namespace qconform::reference
