// Names and sets of element types.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "reference/numerics/element.h"

namespace qconform {

/// Whether qconform can hold tensors of this type.
[[nodiscard]] inline bool is_known(ElementType type) {
  return bits_of(type) != 0;
}

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
