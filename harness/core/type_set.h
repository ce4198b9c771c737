// Sets of element types, as contracts state them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "harness/core/element_type.h"

namespace qconform {

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
