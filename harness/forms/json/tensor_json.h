// Tensors and their elements as JSON. An element: integers and bool as integers, float and double as numbers
// ("nan", "inf", "-inf" and, for any other NaN, the bit pattern "0x7fc00001" as strings), every
// other type as its bit pattern ("0x3c00"). Internal to the harness.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/core/element_type.h"
#include "harness/forms/json/json_text.h"

namespace qconform {

/// The element whose stored bits these are. `type` is known and has at most 64 bits.
[[nodiscard]] Json element_json(ElementType type, std::uint64_t bits);

/// The stored bits of an element, or nothing when `value` is none of that type or out of its range.
/// Decimal numbers are read to the nearest double, and that to the nearest float.
[[nodiscard]] std::optional<std::uint64_t> element_bits(ElementType type, const Json& value);

/// A bit pattern as text, and back: "0x" and digits/4 lower-case hexadecimal digits.
[[nodiscard]] std::string bit_pattern(std::uint64_t bits, int width);
[[nodiscard]] std::optional<std::uint64_t> bits_of_pattern(std::string_view text, int width);

}  // namespace qconform
