// Makes another node with the types and shapes of a given one.
#pragma once

#include <cstddef>
#include <optional>

#include "harness/core/case.h"

namespace qconform {

/// Makes `neighbour` the same node as `test_case` with other values: floats of 16 and 32 bits and float8e8m0 are halved
/// where they are normal numbers, integers of up to 8 bits have every second bit inverted, larger ones those of their
/// lowest byte. Shapes, types and attributes are those of `test_case`. A backend may refuse what the values come to.
void make_neighbour(const Case& test_case, Case& neighbour);

/// Makes `other` the same node as `test_case` with another x alone, changed likewise. Returns its position; nothing
/// where the case has none, or one that stays as it is.
[[nodiscard]] std::optional<std::size_t> make_other_input(const Case& test_case, Case& other);

}  // namespace qconform
