#include "harness/source/directed/scale_solver.h"

#include <bit>

#include "reference/numerics/exact_scale.h"
#include "reference/numerics/small_float.h"

namespace qconform::directed {

float scale_for(std::int64_t accumulator, float x_scale, float w_scale, std::int64_t half_steps) {
  const reference::FloatParts sx = reference::parts_of(x_scale);
  const reference::FloatParts sw = reference::parts_of(w_scale);
  const std::uint64_t mantissas = std::uint64_t{sx.mantissa} * sw.mantissa;
  const reference::Ratio ratio{
      .negative = false,
      .numerator = reference::uint128{reference::magnitude_of(accumulator)} * reference::uint128{mantissas},
      .denominator = static_cast<std::uint64_t>(half_steps),
      .exponent = sx.exponent + sw.exponent + 1};
  const auto bits = encode(float_format(reference::Element::float32), ratio, reference::Overflow::saturate);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

float nudged(float value, int steps) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) + static_cast<std::uint32_t>(steps));
}

}  // namespace qconform::directed
