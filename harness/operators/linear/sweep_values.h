// Data for QuantizeLinear by what its quotients do: tie, saturate, vanish.
#pragma once

#include <cstdint>

#include "harness/core/tensor.h"
#include "harness/suites/rng.h"
#include "reference/quantize_linear/quantize_linear.h"

namespace qconform::sweep {

enum QuantizedValues : std::uint8_t { kOrdinary, kTies, kSaturating, kSubnormal, kInfinite, kNan };

/// Fills `x`, whose type and shape are set, with values of the class among ordinary ones. Narrow types
/// may round them into another class: ask for the class afterwards.
void draw_quantized_values(Rng& rng, const reference::QuantizeLinear& node, std::uint8_t values, Tensor& x);

/// The last class that some element has.
[[nodiscard]] std::uint8_t quantized_values_class(const reference::QuantizeLinear& node, const Tensor& x);

/// A number in a type of float or int32, rounded to nearest, saturated; and back.
[[nodiscard]] std::uint64_t bits_of_number(ElementType type, double value);
[[nodiscard]] double number_of_bits(ElementType type, std::uint64_t bits);

}  // namespace qconform::sweep
