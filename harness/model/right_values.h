// The right values of one output element, whichever operator computes it: what a reader is told, and other programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/element_type.h"
#include "reference/linear_quantization/admissible_bits.h"
#include "reference/numerics/admissible_set.h"

namespace qconform {

/// Patterns are those of the output's type: raw_bits_at().
struct RightValues {
  /// All numbers from lo to hi, both included, and zero of either sign where zero is among them. Equal ends stand for
  /// this one pattern.
  struct Range {
    std::uint64_t lo;
    std::uint64_t hi;
  };

  ElementType type = ElementType::undefined;
  std::vector<Range> ranges = {};  ///< in the reader's order
  bool any_value = false;          ///< every pattern, NaN too; there are no ranges
  bool any_nan = false;            ///< NaN with any payload and sign
  bool either_zero = false;        ///< +0 and -0

  [[nodiscard]] bool holds(std::uint64_t bits) const;
  /// "{213, 214}", "{-3..5}", "[0.1, 0.2]", "{nan, any NaN}", "any value"
  [[nodiscard]] std::string text() const;
};

/// Right values of the integer type `type`, which has all members of `set`.
[[nodiscard]] RightValues right_values_of(const reference::AdmissibleSet& set, ElementType type);
[[nodiscard]] RightValues right_values_of(const reference::AdmissibleBits& set);

}  // namespace qconform
