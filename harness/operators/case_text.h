// A case in one line, for the reader.
#pragma once

#include <string>

#include "harness/core/case.h"

namespace qconform {

/// What it computes on: "x [1,2,1,1] * w [1,2,1,1], pads [0,1,0,0]", "x float [3], y_scale float [3]".
/// Scalars are left out, and so is an operator's kernel_shape.
[[nodiscard]] std::string summary_of(const Case& test_case);

}  // namespace qconform
