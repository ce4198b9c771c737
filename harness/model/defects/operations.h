// Computes the operations of expressions (expression.h). Inline: learning applies them millions of times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "harness/model/defects/expression.h"

namespace qconform::diagnose {

[[nodiscard]] constexpr std::int64_t as_signed(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

[[nodiscard]] constexpr std::uint64_t as_bits(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

[[nodiscard]] constexpr std::int64_t rounded_down(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return as_signed(0 - as_bits(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

[[nodiscard]] constexpr std::int64_t remainder_of(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest >= 0 ? rest : b > 0 ? rest + b : rest - b;
}

/// Applies `operation` to as many operands as operands_of() says.
[[nodiscard]] inline std::int64_t apply(Operation operation, std::span<const std::int64_t> operands,
                                        IntegerRange range) {
  const std::int64_t a = operands[0];
  const std::int64_t b = operands.size() > 1 ? operands[1] : 0;
  switch (operation) {
    case Operation::negate: return as_signed(0 - as_bits(a));
    case Operation::wrap8: return static_cast<std::int8_t>(as_bits(a) & 0xFFU);
    case Operation::wrap16: return static_cast<std::int16_t>(as_bits(a) & 0xFFFFU);
    case Operation::wrap32: return static_cast<std::int32_t>(as_bits(a) & 0xFFFF'FFFFU);
    case Operation::saturate16: return std::clamp<std::int64_t>(a, INT16_MIN, INT16_MAX);
    case Operation::saturate32: return std::clamp<std::int64_t>(a, INT32_MIN, INT32_MAX);
    case Operation::saturate: return std::clamp<std::int64_t>(a, range.lo, range.hi);
    case Operation::int32_or_lowest: return a >= INT32_MIN && a <= INT32_MAX ? a : INT32_MIN;
    case Operation::add: return as_signed(as_bits(a) + as_bits(b));
    case Operation::subtract: return as_signed(as_bits(a) - as_bits(b));
    case Operation::multiply: return as_signed(as_bits(a) * as_bits(b));
    case Operation::divide: return rounded_down(a, b);
    case Operation::remainder: return remainder_of(a, b);
    case Operation::minimum: return std::min(a, b);
    case Operation::maximum: return std::max(a, b);
    case Operation::exclusive_or: return a ^ b;
    case Operation::equal: return a == b ? 1 : 0;
    case Operation::unequal: return a != b ? 1 : 0;
    case Operation::less: return a < b ? 1 : 0;
    case Operation::choose: return a != 0 ? b : operands[2];
    case Operation::constant:
    case Operation::variable: break;
  }
  return 0;
}

/// The value as a type of that range holds it.
[[nodiscard]] inline std::int64_t wrapped_in(IntegerRange range, std::int64_t value) {
  const std::int64_t count = std::int64_t{range.hi} - range.lo + 1;
  return range.lo + remainder_of(as_signed(as_bits(value) - as_bits(range.lo)), count);
}

}  // namespace qconform::diagnose
