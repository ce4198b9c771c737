#include "harness/onnx/tensor_cast.h"

#include <cmath>

#include "harness/model/text.h"
#include "reference/numerics/small_float.h"

namespace qconform {
namespace {

enum class Kind : std::uint8_t { other, boolean, integer, real };

Kind kind_of(ElementType type) {
  if (is_integer(type)) return Kind::integer;
  switch (type) {
    case ElementType::boolean: return Kind::boolean;
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::float32:
    case ElementType::float64:
    case ElementType::float8e4m3fn:
    case ElementType::float8e4m3fnuz:
    case ElementType::float8e5m2:
    case ElementType::float8e5m2fnuz:
    case ElementType::float4e2m1: return Kind::real;
    default: return Kind::other;
  }
}

bool fits(double value, ElementType type) {  // false for NaN
  const int bits = bits_of(type) - (is_signed_integer(type) ? 1 : 0);
  const double end = std::ldexp(1.0, bits);
  return std::trunc(value) >= (is_signed_integer(type) ? -end : 0.0) && std::trunc(value) < end;
}

std::uint64_t bits_of_integral(double value) {  // that fits one of the integer types
  return value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) : static_cast<std::uint64_t>(value);
}

/// One element of a tensor, and the type that it becomes.
struct CastElement {
  const Tensor& from;
  std::int64_t index;
  ElementType type;
  reference::Overflow overflow;

  [[nodiscard]] std::optional<std::uint64_t> of_integer() const;
  [[nodiscard]] std::optional<std::uint64_t> of_real() const;
};

std::optional<std::uint64_t> CastElement::of_integer() const {
  const std::int64_t value = integer_at(from, index);
  const auto bits = static_cast<std::uint64_t>(value);
  switch (kind_of(type)) {
    case Kind::integer: return bits;
    case Kind::boolean: return bits != 0 ? 1 : 0;
    default: break;
  }
  reference::Ratio exact;
  exact.negative = value < 0 && is_signed_integer(from.type);
  exact.numerator = exact.negative ? 0 - bits : bits;
  return reference::encode(reference::float_format(element_of(type)), exact, overflow);
}

std::optional<std::uint64_t> CastElement::of_real() const {
  const double value = number_at(from, index);
  switch (kind_of(type)) {
    case Kind::boolean: return value != 0 ? 1 : 0;
    case Kind::integer: return fits(value, type) ? std::optional(bits_of_integral(std::trunc(value))) : std::nullopt;
    default: return reference::encode(reference::float_format(element_of(type)), value, overflow);
  }
}

}  // namespace

std::optional<Tensor> cast(const Tensor& tensor, ElementType type, bool saturate) {
  if (tensor.type == type) return tensor;
  if (kind_of(tensor.type) == Kind::other || kind_of(type) == Kind::other) return std::nullopt;
  const bool real = kind_of(tensor.type) == Kind::real;
  Tensor from = tensor;
  if (from.type == ElementType::boolean) from.type = ElementType::uint8;
  const std::int64_t count = tensor.elements();
  Tensor result{type, tensor.shape, std::vector<std::byte>(static_cast<std::size_t>(bytes_for(type, count)))};
  const bool small = bits_of(type) <= 8;
  const auto overflow = saturate && small ? reference::Overflow::saturate : reference::Overflow::special;
  for (std::int64_t i = 0; i < count; ++i) {
    const CastElement element{from, i, type, overflow};
    const auto bits = real ? element.of_real() : element.of_integer();
    if (!bits) return std::nullopt;
    set_raw_bits_at(result.bytes, bits_of(type), i, *bits);
  }
  return result;
}

}  // namespace qconform
