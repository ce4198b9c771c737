#include "harness/core/tensor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "harness/core/limits.h"
#include "reference/numerics/element.h"

namespace qconform {
namespace {

using Named = std::pair<ElementType, std::string_view>;

constexpr std::array kNames{
    Named{ElementType::float32, "float"},
    Named{ElementType::uint8, "uint8"},
    Named{ElementType::int8, "int8"},
    Named{ElementType::uint16, "uint16"},
    Named{ElementType::int16, "int16"},
    Named{ElementType::int32, "int32"},
    Named{ElementType::int64, "int64"},
    Named{ElementType::boolean, "bool"},
    Named{ElementType::float16, "float16"},
    Named{ElementType::float64, "double"},
    Named{ElementType::uint32, "uint32"},
    Named{ElementType::uint64, "uint64"},
    Named{ElementType::complex64, "complex64"},
    Named{ElementType::complex128, "complex128"},
    Named{ElementType::bfloat16, "bfloat16"},
    Named{ElementType::float8e4m3fn, "float8e4m3fn"},
    Named{ElementType::float8e4m3fnuz, "float8e4m3fnuz"},
    Named{ElementType::float8e5m2, "float8e5m2"},
    Named{ElementType::float8e5m2fnuz, "float8e5m2fnuz"},
    Named{ElementType::uint4, "uint4"},
    Named{ElementType::int4, "int4"},
    Named{ElementType::float4e2m1, "float4e2m1"},
    Named{ElementType::float8e8m0, "float8e8m0"},
    Named{ElementType::uint2, "uint2"},
    Named{ElementType::int2, "int2"},
};

}  // namespace

std::string name_of(ElementType type) {
  const auto* found =
      std::find_if(kNames.begin(), kNames.end(), [&](const Named& named) { return named.first == type; });
  if (found != kNames.end()) return std::string(found->second);
  return type == ElementType::string ? "string" : "type " + std::to_string(static_cast<std::int32_t>(type));
}

std::optional<ElementType> element_type_named(std::string_view name) {
  const auto* found =
      std::find_if(kNames.begin(), kNames.end(), [&](const Named& named) { return named.second == name; });
  if (found == kNames.end()) return std::nullopt;
  return found->first;
}

std::string TypeSet::text() const {
  std::vector<std::string> names;
  for (std::int32_t number = 0; number < 64; ++number) {
    const auto type = static_cast<ElementType>(number);
    if (contains(type)) names.push_back(name_of(type));
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

std::int64_t Tensor::elements() const {
  return elements_of(shape);
}

Tensor Tensor::zeros(ElementType type, std::vector<std::int64_t> shape) {
  Tensor tensor{type, std::move(shape), {}};
  tensor.bytes.resize(static_cast<std::size_t>(bytes_for(type, tensor.elements())));
  return tensor;
}

std::int64_t bytes_for(ElementType type, std::int64_t elements) {
  return (elements * bits_of(type) + 7) / 8;
}

Result<std::int64_t> checked_bytes(const std::string& field, ElementType type, std::span<const std::int64_t> shape) {
  if (!is_known(type)) return fail(field, "element type " + name_of(type) + " cannot be held in a tensor");
  if (shape.size() > limits::kRank) {
    return fail(field,
                "rank " + std::to_string(shape.size()) + " exceeds the limit of " + std::to_string(limits::kRank),
                "limit");
  }
  bool empty = false;
  std::int64_t elements = 1;  // counting empty dimensions as 1, so that the others stay bounded too
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) return fail(field, "negative dimension in shape " + shape_text(shape));
    if (dimension == 0) {
      empty = true;
      continue;
    }
    if (dimension > limits::kElements || elements > limits::kElements / dimension) {
      return fail(
          field,
          "shape " + shape_text(shape) + " exceeds the limit of " + std::to_string(limits::kElements) + " elements",
          "limit");
    }
    elements *= dimension;
  }
  const std::int64_t bytes = bytes_for(type, empty ? 0 : elements);
  if (bytes > limits::kTensorBytes) {
    return fail(field,
                "shape " + shape_text(shape) + " of " + name_of(type) + " exceeds the limit of " +
                    std::to_string(limits::kTensorBytes) + " bytes",
                "limit");
  }
  return bytes;
}

std::uint64_t raw_bits_at(std::span<const std::byte> bytes, int bits, std::int64_t index) {
  return reference::load_bits(bytes, bits, index);
}

void set_raw_bits_at(std::span<std::byte> bytes, int bits, std::int64_t index, std::uint64_t raw) {
  if (bits >= 8) return reference::store_bits(bytes, bits, index, raw);
  const std::int64_t per_byte = 8 / bits;
  const auto shift = static_cast<int>(index % per_byte) * bits;
  const unsigned mask = (1U << bits) - 1U;
  std::byte& byte = bytes[static_cast<std::size_t>(index / per_byte)];
  byte = (byte & ~std::byte(mask << shift)) | std::byte((static_cast<unsigned>(raw) & mask) << shift);
}

std::int64_t integer_at(const Tensor& tensor, std::int64_t index) {
  const int bits = bits_of(tensor.type);
  const std::uint64_t raw = raw_bits_at(tensor.bytes, bits, index);
  if (is_signed_integer(tensor.type) && bits < 64 && (raw >> (bits - 1) & 1U) != 0) {
    return static_cast<std::int64_t>(raw) - (std::int64_t{1} << bits);
  }
  return static_cast<std::int64_t>(raw);
}

float float_at(const Tensor& tensor, std::int64_t index) {
  float value = 0;
  std::memcpy(&value, tensor.bytes.data() + static_cast<std::size_t>(index) * sizeof value, sizeof value);
  return value;
}

}  // namespace qconform
