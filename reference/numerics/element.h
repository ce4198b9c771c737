// Element types of the reference, and the two 8-bit types that x, w and y of the quantized operators take.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qconform::reference {

enum class Integer8 : std::uint8_t { uint8, int8 };

/// Smallest and largest value of an integer type, both included.
struct IntegerRange {
  std::int32_t lo;
  std::int32_t hi;
};

[[nodiscard]] constexpr IntegerRange range_of(Integer8 type) {
  return type == Integer8::uint8 ? IntegerRange{0, 255} : IntegerRange{-128, 127};
}

/// The value that one stored byte has in `type`.
[[nodiscard]] constexpr std::int32_t load8(Integer8 type, std::byte byte) {
  const auto raw = std::to_integer<std::int32_t>(byte);
  return type == Integer8::int8 && raw >= 128 ? raw - 256 : raw;
}

/// The byte that stores `value`, which must lie in range_of(type); the low eight bits are kept.
[[nodiscard]] constexpr std::byte store8(std::int32_t value) {
  return static_cast<std::byte>(static_cast<std::uint32_t>(value) & 0xFFU);
}

// The element types of tensors that QuantizeLinear and DequantizeLinear take and return.

/// The values are ONNX's numbers (TensorProto.DataType); `none` is ONNX's UNDEFINED.
enum class Element : std::uint8_t {
  none = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  float16 = 10,
  float64 = 11,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};

/// Storage size of one element: 2 to 64; 0 for `none`.
[[nodiscard]] constexpr int bits_of(Element type) {
  switch (type) {
    case Element::uint2:
    case Element::int2: return 2;
    case Element::uint4:
    case Element::int4:
    case Element::float4e2m1: return 4;
    case Element::uint8:
    case Element::int8:
    case Element::float8e4m3fn:
    case Element::float8e4m3fnuz:
    case Element::float8e5m2:
    case Element::float8e5m2fnuz:
    case Element::float8e8m0: return 8;
    case Element::uint16:
    case Element::int16:
    case Element::float16:
    case Element::bfloat16: return 16;
    case Element::float32:
    case Element::int32: return 32;
    case Element::float64: return 64;
    case Element::none: break;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_signed_integer(Element type) {
  return type == Element::int2 || type == Element::int4 || type == Element::int8 || type == Element::int16 ||
         type == Element::int32;
}

[[nodiscard]] constexpr bool is_unsigned_integer(Element type) {
  return type == Element::uint2 || type == Element::uint4 || type == Element::uint8 || type == Element::uint16;
}

[[nodiscard]] constexpr bool is_integer(Element type) {
  return is_signed_integer(type) || is_unsigned_integer(type);
}

/// Floats of 8 bits that hold data; float8e8m0 holds scales only and is not one of them.
[[nodiscard]] constexpr bool is_float8(Element type) {
  return type == Element::float8e4m3fn || type == Element::float8e4m3fnuz || type == Element::float8e5m2 ||
         type == Element::float8e5m2fnuz;
}

/// `type` is an integer.
[[nodiscard]] constexpr IntegerRange range_of(Element type) {
  const int bits = bits_of(type);
  if (is_unsigned_integer(type)) return {0, static_cast<std::int32_t>((std::int64_t{1} << bits) - 1)};
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  return {static_cast<std::int32_t>(-half), static_cast<std::int32_t>(half - 1)};
}

}  // namespace qconform::reference
