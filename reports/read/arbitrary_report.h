// Arbitrary reports for property tests: every member takes values, text with markup and control characters
// among them; sums agree with their parts, as those of a run do.
#pragma once

#include <cstdint>

#include "harness/core/report.h"

namespace qconform::testing {

/// Bytes that are not UTF-8 reach a report too: in what a backend prints, say. JSON cannot keep them.
enum class Texts : std::uint8_t { bytes, unicode };

/// Inside of a RapidCheck property. Cases have what a report that was read has: id, operator and summary.
[[nodiscard]] Report arbitrary_report(Texts texts = Texts::bytes);

}  // namespace qconform::testing
