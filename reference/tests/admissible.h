// Adversarial elements, and the checks that the quick and the long tests share. Tests only.
#pragma once

#include <cstdint>
#include <string>

#include "reference/numerics/requantize.h"
#include "reference/oracle/random_convolution.h"

namespace qconform::reference {

struct SummedElement {
  std::int64_t accumulator;
  Requantization parameters;
};

[[nodiscard]] std::string describe(const SummedElement& element);

/// `value` moved by `steps` neighbouring floats, away from zero where positive. Stays finite for
/// ordinary values and small steps.
[[nodiscard]] float moved(float value, std::int64_t steps);

/// A zero point and one of the two output ranges.
void choose_output(oracle::Random& random, Requantization& parameters);

/// Within the domain, of several kinds: v within some float32 steps of a tie; exact ties with scales
/// that are powers of two, or small integers; sums with more than 24 bits. Sums have at most 31 bits.
[[nodiscard]] SummedElement adversarial_element(oracle::Random& random);

/// Checks on `count` elements that every float expression lies inside F_5's interval.
void check_float_expressions(int count);

/// Checks on `count` elements that the quick decisions of reference/numerics/admissible.h say the same as the exact
/// sets.
void check_quick_decisions(int count);

}  // namespace qconform::reference
