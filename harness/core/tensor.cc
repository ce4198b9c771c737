#include "harness/core/tensor.h"

#include <cstring>
#include <utility>

#include "harness/core/limits.h"
#include "reference/numerics/bits.h"

namespace qconform {

std::int64_t Tensor::elements() const {
  return elements_of(shape);
}

Tensor Tensor::zeros(ElementType type, std::vector<std::int64_t> shape) {
  Tensor tensor{type, std::move(shape), {}};
  tensor.bytes.resize(static_cast<std::size_t>(bytes_for(type, tensor.elements())));
  return tensor;
}

std::int64_t elements_of(std::span<const std::int64_t> shape) {
  std::int64_t result = 1;
  for (const std::int64_t dimension : shape) result *= dimension;
  return result;
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
  if (bits >= 8) {
    const auto size = static_cast<std::size_t>(bits / 8);
    std::memcpy(bytes.data() + static_cast<std::size_t>(index) * size, &raw, size);
    return;
  }
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

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace qconform
