#include <cstring>

#include "reference/numerics/float_parts.h"
#include "reference/numerics/round.h"
#include "reference/numerics/saturate.h"
#include "reference/quantize_linear/quantize_linear.h"

namespace qconform::reference {
namespace {

float load_x(QuantizeInput type, const std::byte* at) {
  if (type == QuantizeInput::float32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::int32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return static_cast<float>(value);
}

}  // namespace

std::byte quantize(float x, float scale, std::int32_t zero_point, Integer8 type) {
  const IntegerRange range = range_of(type);
  const float quotient = x / scale;
  if (is_nan(quotient)) return store8(zero_point);
  // Clamping to bounds that are integers before rounding changes nothing, and keeps the conversion
  // to an integer defined for infinite and huge quotients.
  const auto lo = static_cast<float>(range.lo - zero_point);
  const auto hi = static_cast<float>(range.hi - zero_point);
  const float clamped = quotient < lo ? lo : (quotient > hi ? hi : quotient);
  return store8(static_cast<std::int32_t>(round_half_even(clamped)) + zero_point);
}

void quantize_linear(const QuantizeLinear& node, std::span<const std::byte> x, std::span<std::byte> y) {
  const QuantizationLayout& layout = node.layout;
  std::size_t i = 0;
  for (std::int64_t o = 0; o < layout.outer; ++o) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(layout.channels); ++c) {
      for (std::int64_t k = 0; k < layout.inner; ++k, ++i) {
        const float value = load_x(node.x_type, x.data() + 4 * i);
        y[i] = quantize(value, node.y_scale[c], node.y_zero_point[c], node.y_type);
      }
    }
  }
}

}  // namespace qconform::reference
