// Element types of tensors by their ONNX numbers (TensorProto.DataType), so that an ONNX library that is older than a
// type does not prevent reading it; and elements as they are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

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

/// The types of x, w and y of the quantized operators of opset 10.
[[nodiscard]] constexpr bool is_8bit_integer(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8;
}

/// The 8-bit integer type of the other signedness.
[[nodiscard]] constexpr ElementType with_other_sign(ElementType type) {
  return type == ElementType::int8 ? ElementType::uint8 : ElementType::int8;
}

/// Whether elements are whole numbers: integers, and booleans as 0 and 1.
[[nodiscard]] constexpr bool is_integer_or_boolean(ElementType type) {
  return is_integer(type) || type == ElementType::boolean;
}

/// Floats of 8 bits that hold data; float8e8m0 holds scales only and is not one of them.
[[nodiscard]] constexpr bool is_float8(ElementType type) {
  return type == ElementType::float8e4m3fn || type == ElementType::float8e4m3fnuz || type == ElementType::float8e5m2 ||
         type == ElementType::float8e5m2fnuz;
}

/// Returns whether the type is float16 or bfloat16.
[[nodiscard]] constexpr bool is_16bit_float(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16;
}

/// Returns whether the type is a float of 16 to 64 bits, which carries data and can be a precision.
[[nodiscard]] constexpr bool is_wide_float(ElementType type) {
  return is_16bit_float(type) || type == ElementType::float32 || type == ElementType::float64;
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

// Elements of 2 to 64 bits within a tensor's bytes.

/// Bytes that `elements` elements of `bits` bits take.
[[nodiscard]] constexpr std::int64_t bytes_for(std::int64_t elements, int bits) {
  return bits >= 8 ? elements * (bits / 8) : (elements * bits + 7) / 8;
}

/// Element `index` of an array of words, which may have any alignment.
template <typename Word>
[[nodiscard]] Word load_word(std::span<const std::byte> bytes, std::int64_t index) {
  Word word{};
  std::memcpy(&word, bytes.data() + static_cast<std::size_t>(index) * sizeof word, sizeof word);
  return word;
}
template <typename Word>
void store_word(std::span<std::byte> bytes, std::int64_t index, Word word) {
  std::memcpy(bytes.data() + static_cast<std::size_t>(index) * sizeof word, &word, sizeof word);
}

/// Element `index`, little endian; `bits` is a power of two. Elements below 8 bits are packed as ONNX
/// packs them, the first one in the low bits of the first byte.
[[nodiscard]] inline std::uint64_t load_bits(std::span<const std::byte> bytes, int bits, std::int64_t index) {
  switch (bits) {
    case 8: return load_word<std::uint8_t>(bytes, index);
    case 16: return load_word<std::uint16_t>(bytes, index);
    case 32: return load_word<std::uint32_t>(bytes, index);
    case 64: return load_word<std::uint64_t>(bytes, index);
    default: break;
  }
  const std::int64_t per_byte = 8 / bits;
  const auto byte = std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(index / per_byte)]);
  return byte >> (index % per_byte * bits) & ((std::uint64_t{1} << bits) - 1);
}

/// The pattern that stores an integer in a type of at most 64 bits: its low bits.
[[nodiscard]] constexpr std::uint64_t integer_pattern(ElementType type, std::int64_t value) {
  return static_cast<std::uint64_t>(value) & ~std::uint64_t{0} >> (64 - bits_of(type));
}

/// Stores the low `bits` bits of `raw` as element `index`. The first element of a byte also clears
/// the rest of it, so that elements stored in ascending order leave unused bits zero.
inline void store_bits(std::span<std::byte> bytes, int bits, std::int64_t index, std::uint64_t raw) {
  switch (bits) {
    case 8: return store_word(bytes, index, static_cast<std::uint8_t>(raw));
    case 16: return store_word(bytes, index, static_cast<std::uint16_t>(raw));
    case 32: return store_word(bytes, index, static_cast<std::uint32_t>(raw));
    case 64: return store_word(bytes, index, raw);
    default: break;
  }
  const std::int64_t per_byte = 8 / bits;
  const auto shift = static_cast<int>(index % per_byte) * bits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::byte& byte = bytes[static_cast<std::size_t>(index / per_byte)];
  const auto present = shift == 0 ? 0U : std::to_integer<unsigned>(byte);
  byte = static_cast<std::byte>(present | static_cast<unsigned>((raw & mask) << shift));
}

}  // namespace reference
}  // namespace qconform
