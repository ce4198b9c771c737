// Element types of tensors by their ONNX numbers (TensorProto.DataType), so that an ONNX library that is older than a
// type does not prevent reading it; and the two 8-bit types that x, w and y of the quantized operators take.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qconform {

/// The value is ONNX's number. A file may hold a number that is not listed here; bits_of() is 0 then.
enum class ElementType : std::int32_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
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

/// Storage size of one element: 2, 4, 8, 16, 32, 64 or 128; 0 for strings and unknown types.
[[nodiscard]] constexpr int bits_of(ElementType type) {
  switch (type) {
    case ElementType::uint2:
    case ElementType::int2: return 2;
    case ElementType::uint4:
    case ElementType::int4:
    case ElementType::float4e2m1: return 4;
    case ElementType::uint8:
    case ElementType::int8:
    case ElementType::boolean:
    case ElementType::float8e4m3fn:
    case ElementType::float8e4m3fnuz:
    case ElementType::float8e5m2:
    case ElementType::float8e5m2fnuz:
    case ElementType::float8e8m0: return 8;
    case ElementType::uint16:
    case ElementType::int16:
    case ElementType::float16:
    case ElementType::bfloat16: return 16;
    case ElementType::float32:
    case ElementType::int32:
    case ElementType::uint32: return 32;
    case ElementType::float64:
    case ElementType::int64:
    case ElementType::uint64:
    case ElementType::complex64: return 64;
    case ElementType::complex128: return 128;
    case ElementType::undefined:
    case ElementType::string: break;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_signed_integer(ElementType type) {
  return type == ElementType::int2 || type == ElementType::int4 || type == ElementType::int8 ||
         type == ElementType::int16 || type == ElementType::int32 || type == ElementType::int64;
}

[[nodiscard]] constexpr bool is_unsigned_integer(ElementType type) {
  return type == ElementType::uint2 || type == ElementType::uint4 || type == ElementType::uint8 ||
         type == ElementType::uint16 || type == ElementType::uint32 || type == ElementType::uint64;
}

[[nodiscard]] constexpr bool is_integer(ElementType type) {
  return is_signed_integer(type) || is_unsigned_integer(type);
}

/// Floats of 8 bits that hold data; float8e8m0 holds scales only and is not one of them.
[[nodiscard]] constexpr bool is_float8(ElementType type) {
  return type == ElementType::float8e4m3fn || type == ElementType::float8e4m3fnuz || type == ElementType::float8e5m2 ||
         type == ElementType::float8e5m2fnuz;
}

/// Whether the reference computes with values of the type: no integers of 64 bits, no uint32, no truth values, no
/// complex numbers, no texts.
[[nodiscard]] constexpr bool is_numeric(ElementType type) {
  switch (type) {
    case ElementType::int64:
    case ElementType::uint32:
    case ElementType::uint64:
    case ElementType::boolean:
    case ElementType::complex64:
    case ElementType::complex128: return false;
    default: return bits_of(type) != 0;
  }
}

namespace reference {

/// Smallest and largest value of an integer type, both included.
struct IntegerRange {
  std::int32_t lo;
  std::int32_t hi;
};

/// `type` is int32 or a narrower integer other than uint32.
[[nodiscard]] constexpr IntegerRange range_of(ElementType type) {
  const int bits = bits_of(type);
  if (is_unsigned_integer(type)) return {0, static_cast<std::int32_t>((std::int64_t{1} << bits) - 1)};
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  return {static_cast<std::int32_t>(-half), static_cast<std::int32_t>(half - 1)};
}

/// The value that one stored byte has in `type`, uint8 or int8.
[[nodiscard]] constexpr std::int32_t load8(ElementType type, std::byte byte) {
  const auto raw = std::to_integer<std::int32_t>(byte);
  return type == ElementType::int8 && raw >= 128 ? raw - 256 : raw;
}

/// The byte that stores `value`, which must lie in range_of(type); the low eight bits are kept.
[[nodiscard]] constexpr std::byte store8(std::int32_t value) {
  return static_cast<std::byte>(static_cast<std::uint32_t>(value) & 0xFFU);
}

}  // namespace reference
}  // namespace qconform
