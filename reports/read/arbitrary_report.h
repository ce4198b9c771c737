// Arbitrary reports for property tests: every member takes values, text with markup and control characters
// among them; sums agree with their parts, as those of a run do.
#pragma once

#include "harness/core/report.h"

namespace qconform::testing {

/// Inside of a RapidCheck property.
[[nodiscard]] Report arbitrary_report();

}  // namespace qconform::testing
