// How one element of an output comes about, step by step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/model/judge/judge.h"

namespace qconform::report {

/// Steps from the inputs to the reference's value of element `index`: the products, their sum, the scaled value,
/// rounding and saturation. Of a long sum the products that are not 0, as many as a reader wants. `expected` is of one
/// node, and has an output with that element.
[[nodiscard]] std::vector<std::string> worked_out(const Expected& expected, std::int64_t index);

}  // namespace qconform::report
