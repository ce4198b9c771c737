#include <cstring>

#include "reference/linear_quantization/value.h"
#include "reference/numerics/float_parts.h"
#include "reference/numerics/round.h"
#include "reference/quantize_linear/division.h"
#include "reference/quantize_linear/output.h"
#include "reference/quantize_linear/quantize_linear.h"

namespace qconform::reference {
namespace {

float load_float32(ElementType type, const std::byte* at) {
  if (type == ElementType::float32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::int32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return static_cast<float>(value);
}

}  // namespace

std::int32_t quantize(float x, float scale, std::int32_t zero_point, IntegerRange range) {
  const float quotient = x / scale;
  if (is_nan(quotient)) return zero_point;
  // Clamping to bounds that are integers before rounding changes nothing, and keeps the conversion
  // to an integer defined for infinite and huge quotients.
  const auto lo = static_cast<float>(range.lo - zero_point);
  const auto hi = static_cast<float>(range.hi - zero_point);
  const float clamped = quotient < lo ? lo : (quotient > hi ? hi : quotient);
  return static_cast<std::int32_t>(round_half_even(clamped)) + zero_point;
}

void quantize_linear(const QuantizeLinear& node, std::span<const std::byte> x, std::span<std::byte> y) {
  const int y_bits = bits_of(node.y_type);
  const std::int64_t elements = node.layout.elements();
  if (divides_in_float32(node) && is_integer(node.y_type)) {
    const IntegerRange range = range_of(node.y_type);
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::size_t parameter = node.layout.parameter_of(i);
      const float value = load_float32(node.x_type, x.data() + 4 * i);
      const std::int32_t quantized =
          quantize(value, static_cast<float>(node.y_scale[parameter]), node.y_zero_point[parameter], range);
      store_bits(y, y_bits, i, static_cast<std::uint32_t>(quantized));
    }
    return;
  }
  const Division division = Divisions(node, Wording::onnx).first();
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::size_t parameter = node.layout.parameter_of(i);
    const Quotient quotient = divide(division, value_at(node.x_type, x, i), node.y_scale[parameter]);
    store_bits(y, y_bits, i, output_bits(node, parameter, quotient));
  }
}

}  // namespace qconform::reference
