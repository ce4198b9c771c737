#include "harness/model/case_builder.h"

#include <algorithm>
#include <cassert>

namespace qconform {
namespace make {

Tensor integers(ElementType type, Shape shape, const std::vector<std::int64_t>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  assert(elements_of(shape) == count);
  Tensor tensor{type, std::move(shape), std::vector<std::byte>(static_cast<std::size_t>(bytes_for(type, count)))};
  if (bits_of(type) == 8) {
    std::transform(values.begin(), values.end(), tensor.bytes.begin(), [](std::int64_t value) {
      return static_cast<std::byte>(static_cast<std::uint64_t>(value) & 0xFFU);
    });
    return tensor;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    set_raw_bits_at(tensor.bytes, bits_of(type), i, static_cast<std::uint64_t>(values[static_cast<std::size_t>(i)]));
  }
  return tensor;
}

Tensor filled(ElementType type, Shape shape, std::int64_t value) {
  const std::vector<std::int64_t> values(static_cast<std::size_t>(elements_of(shape)), value);
  return integers(type, std::move(shape), values);
}

Tensor uint8(Shape shape, const std::vector<std::int64_t>& values) {
  return integers(ElementType::uint8, std::move(shape), values);
}
Tensor int8(Shape shape, const std::vector<std::int64_t>& values) {
  return integers(ElementType::int8, std::move(shape), values);
}
Tensor int32(Shape shape, const std::vector<std::int64_t>& values) {
  return integers(ElementType::int32, std::move(shape), values);
}
Tensor float32(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(ElementType::float32, std::move(shape), values);
}
Tensor integer(ElementType type, std::int64_t value) {
  return integers(type, {}, {value});
}
Tensor float32(float value) {
  return float32(Shape{}, {value});
}

}  // namespace make

}  // namespace qconform
