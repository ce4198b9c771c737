#include <cstring>

#include "reference/dequantize_linear/dequantize_linear.h"
#include "reference/numerics/integer8.h"

namespace qconform::reference {
namespace {

std::int32_t load_x(DequantizeInput type, const std::byte* data, std::size_t index) {
  switch (type) {
    case DequantizeInput::uint8: return load8(Integer8::uint8, data[index]);
    case DequantizeInput::int8: return load8(Integer8::int8, data[index]);
    case DequantizeInput::int32: break;
  }
  std::int32_t value = 0;
  std::memcpy(&value, data + 4 * index, sizeof value);
  return value;
}

}  // namespace

void dequantize_linear(const DequantizeLinear& node, std::span<const std::byte> x, std::span<float> y) {
  const QuantizationLayout& layout = node.layout;
  std::size_t i = 0;
  for (std::int64_t o = 0; o < layout.outer; ++o) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(layout.channels); ++c) {
      for (std::int64_t k = 0; k < layout.inner; ++k, ++i) {
        const std::int32_t difference = load_x(node.x_type, x.data(), i) - node.x_zero_point[c];
        y[i] = static_cast<float>(difference) * node.x_scale[c];
      }
    }
  }
}

}  // namespace qconform::reference
