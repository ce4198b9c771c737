// Arbitrary reports for property tests: every member takes values; sums agree with their parts, as those of a run do.
#pragma once

#include "harness/report/report.h"
#include "harness/tests/arbitrary_archive.h"

namespace qconform::testing {

/// Inside of a RapidCheck property. Cases have what a report that was read has: id, operator and summary.
[[nodiscard]] Report arbitrary_report(Texts texts = Texts::bytes);

}  // namespace qconform::testing
