// A dense tensor (type, shape, bytes), and names and sets of element types.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "reference/numerics/element.h"
#include "reference/numerics/shape.h"

namespace qconform {

// Names of element types.

/// Whether qconform can hold tensors of this type.
[[nodiscard]] inline bool is_known(ElementType type) {
  return bits_of(type) != 0;
}

/// Whether data of the type are quantized by their size: numbers of 2, 4 or 8 bits.
[[nodiscard]] inline bool is_narrow(ElementType type) {
  const std::int64_t bits = bits_of(type);
  return type != ElementType::boolean && type != ElementType::string && (bits == 2 || bits == 4 || bits == 8);
}

/// ONNX's name in lower case ("uint8", "float", "float8e4m3fn"); "type 99" for an unknown number.
[[nodiscard]] std::string name_of(ElementType type);

/// The type with that name, if there is one.
[[nodiscard]] std::optional<ElementType> element_type_named(std::string_view name);

/// Holds the smallest and the largest value of an integer type. reference::IntegerRange has them in 32 bits, for
/// kernels; here uint32 fits, and differences do not overflow.
struct IntegerEnds {
  std::int64_t lo;
  std::int64_t hi;
};

/// `type` is an integer type of at most 32 bits.
[[nodiscard]] constexpr IntegerEnds ends_of(ElementType type) {
  const std::int64_t values = std::int64_t{1} << bits_of(type);
  return is_signed_integer(type) ? IntegerEnds{-values / 2, values / 2 - 1} : IntegerEnds{0, values - 1};
}

// Sets of element types, as contracts state them.

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

// Tensors.

/// Row-major, little endian. 4- and 2-bit elements are packed as ONNX packs them: the first element
/// in the low bits of the first byte, unused high bits of the last byte zero.
struct Tensor {
  ElementType type = ElementType::undefined;
  std::vector<std::int64_t> shape;  ///< empty for a scalar
  std::vector<std::byte> bytes;     ///< bytes_for(type, elements) of them

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] bool is_scalar() const { return shape.empty(); }

  bool operator==(const Tensor&) const = default;

  /// The elements as a C++ type of the same size; `sizeof(T) * 8 == bits_of(type)`.
  template <typename T>
  [[nodiscard]] std::vector<T> values() const;

  /// A tensor from values in row-major order; `values.size()` is the product of `shape`.
  template <typename T>
  [[nodiscard]] static Tensor of(ElementType type, std::vector<std::int64_t> shape, std::span<const T> values);
  template <typename T>
  [[nodiscard]] static Tensor of(ElementType type, std::vector<std::int64_t> shape, const std::vector<T>& values) {
    return of<T>(type, std::move(shape), std::span<const T>(values));
  }
  /// Every bit 0.
  [[nodiscard]] static Tensor zeros(ElementType type, std::vector<std::int64_t> shape);
  template <typename T>
  [[nodiscard]] static Tensor scalar(ElementType type, T value) {
    return of<T>(type, {}, std::span<const T>(&value, 1));
  }
};

/// Storage of `elements` elements of a known type: ceil(elements * bits / 8).
[[nodiscard]] std::int64_t bytes_for(ElementType type, std::int64_t elements);

/// Checks rank, dimensions, element count and byte count against limits.h, and that the type is
/// known. `field` names the tensor in messages. Call it before allocating what a file asks for.
[[nodiscard]] Result<std::int64_t> checked_bytes(const std::string& field, ElementType type,
                                                 std::span<const std::int64_t> shape);

/// The stored bits of element `index`, for `bits` of 2 to 64 (powers of two).
[[nodiscard]] std::uint64_t raw_bits_at(std::span<const std::byte> bytes, int bits, std::int64_t index);

/// Stores the low `bits` bits of `raw` as element `index`.
void set_raw_bits_at(std::span<std::byte> bytes, int bits, std::int64_t index, std::uint64_t raw);

/// The stored bits of element `index` of a tensor whose elements have at most 64 bits.
[[nodiscard]] inline std::uint64_t bits_at(const Tensor& tensor, std::int64_t index) {
  return raw_bits_at(tensor.bytes, bits_of(tensor.type), index);
}
inline void set_bits_at(Tensor& tensor, std::int64_t index, std::uint64_t bits) {
  set_raw_bits_at(tensor.bytes, bits_of(tensor.type), index, bits);
}

/// Element `index` of a tensor of any integer type (packed ones too), as a 64-bit integer; uint64
/// values above 2^63 - 1 wrap.
[[nodiscard]] std::int64_t integer_at(const Tensor& tensor, std::int64_t index);

/// Element `index` of a float32 tensor.
[[nodiscard]] float float_at(const Tensor& tensor, std::int64_t index);

static_assert(std::endian::native == std::endian::little, "Tensor bytes are little endian; this target is not");

template <typename T>
std::vector<T> Tensor::values() const {
  std::vector<T> result(bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
  return result;
}

template <typename T>
Tensor Tensor::of(ElementType type, std::vector<std::int64_t> shape, std::span<const T> values) {
  Tensor tensor{type, std::move(shape), std::vector<std::byte>(values.size_bytes())};
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), values.size_bytes());
  return tensor;
}

/// The position of the element at `index` in a tensor of that shape, in row-major order. Both have one member for each
/// dimension.
[[nodiscard]] inline std::int64_t flat_index(std::span<const std::int64_t> index, std::span<const std::int64_t> shape) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < index.size(); ++i) flat = flat * shape[i] + index[i];
  return flat;
}

}  // namespace qconform
