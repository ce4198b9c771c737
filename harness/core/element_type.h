// Tensor element types by their ONNX numbers (TensorProto.DataType), so that an ONNX library that
// is older than a type does not prevent reading it, and sets of types.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace qconform {

/// The value is ONNX's number. A file may hold a number that is not listed here; `is_known` tells.
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
[[nodiscard]] int bits_of(ElementType type);

/// Whether qconform can hold tensors of this type.
[[nodiscard]] inline bool is_known(ElementType type) {
  return bits_of(type) != 0;
}

/// Signed or unsigned integers of 2 to 64 bits.
[[nodiscard]] bool is_integer(ElementType type);
[[nodiscard]] bool is_signed_integer(ElementType type);

/// ONNX's name in lower case ("uint8", "float", "float8e4m3fn"); "type 99" for an unknown number.
[[nodiscard]] std::string name_of(ElementType type);

/// The type with that name, if there is one.
[[nodiscard]] std::optional<ElementType> element_type_named(std::string_view name);

// Sets of element types, as contracts state them.

/// A set of element types.
class TypeSet {
 public:
  constexpr TypeSet(std::initializer_list<ElementType> types) {
    for (const ElementType type : types) bits_ |= bit(type);
  }
  /// The union.
  [[nodiscard]] constexpr TypeSet with(TypeSet other) const {
    other.bits_ |= bits_;
    return other;
  }
  [[nodiscard]] constexpr bool contains(ElementType type) const {
    return static_cast<std::int32_t>(type) < 64 && (bits_ & bit(type)) != 0;
  }
  /// "uint8, int8 or int32", in the order of ONNX's numbers.
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::uint64_t bit(ElementType type) {
    return std::uint64_t{1} << static_cast<unsigned>(static_cast<std::int32_t>(type) & 63);
  }
  std::uint64_t bits_ = 0;
};

inline constexpr TypeSet kFloat8Types{ElementType::float8e4m3fn, ElementType::float8e4m3fnuz, ElementType::float8e5m2,
                                      ElementType::float8e5m2fnuz};

}  // namespace qconform
