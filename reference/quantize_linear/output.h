// QuantizeLinear's last step: from a quotient to a stored element of y.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/quantize_linear/division.h"

namespace qconform::reference {

/// rne(quotient) + zero point, saturated, for integer y; the nearest number for float y. NaN gives
/// the zero point, or NaN.
[[nodiscard]] std::uint64_t output_bits(const QuantizeLinear& node, std::size_t parameter, const Quotient& quotient);

/// The other neighbour of an integer quotient that is a tie; output_bits() when it is none. Integer y.
[[nodiscard]] std::uint64_t other_output_bits(const QuantizeLinear& node, std::size_t parameter,
                                              const Quotient& quotient);

/// Whether the reference divides in float32 without conversions: for integer y, quantize() computes
/// the elements.
[[nodiscard]] bool divides_in_float32(const QuantizeLinear& node);

}  // namespace qconform::reference
