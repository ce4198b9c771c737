#include "reference/linear_quantization/dequantize_linear.h"

#include <bit>
#include <cmath>

#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform::reference {

void dequantize_linear(const DequantizeLinear& node, std::span<const std::byte> x, std::span<std::byte> y) {
  const int y_bits = bits_of(node.y_type);
  const Multiplication multiplication = Multiplications(node).first();
  for_each_value(node.layout, node.x_type, x, [&](std::int64_t i, std::size_t parameter, double value) {
    const double scale = node.x_scale[parameter];
    const double difference = difference_of(node.x_type, value, node.x_zero_point[parameter]);
    if (node.y_type == ElementType::float32) {
      // float32 holds every scale. A difference that it does not hold, of int32 or float8, is rounded here.
      const float product = static_cast<float>(difference) * static_cast<float>(scale);
      store_bits(y, y_bits, i, std::bit_cast<std::uint32_t>(product));
    } else {
      store_bits(y, y_bits, i, multiply(multiplication, node.y_type, difference, scale));
    }
  });
}

namespace {

// RN(a * b). IEEE's rules for infinities and NaN are the same in every format.
std::uint64_t rounded_product(const FloatFormat& format, double a, double b) {
  const bool is_finite = std::isfinite(a) && std::isfinite(b);
  return is_finite ? encode_product(format, a, b) : encode(format, a * b, Overflow::special);
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

namespace {

bool is_subnormal(const FloatFormat& format, double scale) {
  return std::isfinite(scale) && scale != 0 && leading_exponent(ratio_of(scale)) < format.smallest_exponent();
}

// Rule D6: an arithmetic that flushes subnormals to zero takes such a scale, or returns such a
// product, as a zero of the same sign. A product counts before it is rounded.
bool may_be_flushed(const FloatFormat& format, double difference, double scale) {
  if (!std::isfinite(difference) || !std::isfinite(scale) || difference == 0 || scale == 0) return false;
  return is_subnormal(format, scale) || leading_exponent(product_of(difference, scale)) < format.smallest_exponent();
}

// The products of one difference, in every arithmetic that the rules allow.
void admit_products(const DequantizeLinear& node, double difference, double scale, const char* rule,
                    RightValues& result) {
  const FloatFormat& format = float_format(node.y_type);
  const Multiplications multiplications(node);
  for (const Multiplication& multiplication : multiplications.list()) {
    const std::uint64_t bits = multiply(multiplication, node.y_type, difference, scale);
    // Zero times a scale that only the conversion made infinite is no product.
    if (is_nan(format, bits) && std::isfinite(scale) && std::isfinite(difference)) continue;
    result.admit(bits, rule != nullptr ? rule : multiplication.rule);
    if (is_nan(format, bits)) result.admit_any_nan("D6");
    if (may_be_flushed(format, difference, scale)) result.admit(bits & format.sign_bit(), "D6");
  }
  // An infinity times the zero that such a scale is taken for.
  if (std::isinf(difference) && is_subnormal(format, scale)) result.admit_any_nan("D6");
}

}  // namespace

RightValues admissible_dequantize(const DequantizeLinear& node, std::uint64_t x_bits, std::size_t parameter,
                                  Wording wording) {
  RightValues result{.type = node.y_type};
  const double x = value_of(node.x_type, x_bits);
  const double scale = node.x_scale[parameter];
  const double zero_point = node.x_zero_point[parameter];
  const double difference = difference_of(node.x_type, x, zero_point);
  admit_products(node, difference, scale, nullptr, result);
  // Whether a nonzero zero point of float4e2m1 counts is not stated: ONNX's evaluator leaves it out.
  if (node.x_type == ElementType::float4e2m1 && zero_point != 0) admit_products(node, x, scale, "D3", result);
  // The difference of int32 may also be formed in more than 32 bits, where it does not wrap.
  if (node.x_type == ElementType::int32 && difference != x - zero_point) {
    admit_products(node, x - zero_point, scale, "D3", result);
  }
  // float8 x of -0 less a zero point of -0 is +0; a zero point of float8 may also be left out.
  if (zero_point == 0 && std::signbit(zero_point) && x == 0) result.admit_either_zero("D5");
  // The text gives x = zero point no sign: IEEE's product is -0, and an arithmetic without -0 gives +0.
  if (difference == 0 && scale < 0) result.admit_either_zero("D5");
  if (wording != Wording::directml) return result;
  if (node.x_type == ElementType::int32 && zero_point != 0) {
    const FloatFormat& float32 = float_format(ElementType::float32);
    const double in_float = rounded_to(float32, rounded_to(float32, x) - rounded_to(float32, zero_point));
    admit_products(node, in_float, scale, "D3", result);
  }
  if (difference == 0 || scale == 0) result.admit_either_zero("D5");
  return result;
}

}  // namespace qconform::reference
