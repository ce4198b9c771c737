#include <bit>

#include "reference/dequantize_linear/multiplication.h"
#include "reference/linear_quantization/value.h"

namespace qconform::reference {

void dequantize_linear(const DequantizeLinear& node, std::span<const std::byte> x, std::span<std::byte> y) {
  const int y_bits = bits_of(node.y_type);
  const Multiplication multiplication = Multiplications(node).first();
  for (std::int64_t i = 0; i < node.layout.elements(); ++i) {
    const std::size_t parameter = node.layout.parameter_of(i);
    const double scale = node.x_scale[parameter];
    const double difference = difference_of(node.x_type, value_at(node.x_type, x, i), node.x_zero_point[parameter]);
    if (node.y_type == ElementType::float32) {
      // float32 holds every scale. A difference that it does not hold, of int32 or float8, is rounded here.
      const float product = static_cast<float>(difference) * static_cast<float>(scale);
      store_bits(y, y_bits, i, std::bit_cast<std::uint32_t>(product));
    } else {
      store_bits(y, y_bits, i, multiply(multiplication, node.y_type, difference, scale));
    }
  }
}

}  // namespace qconform::reference
