// What each backend did with the cases of each operator.
#pragma once

#include <string>

#include "harness/core/report.h"
#include "reports/render/painter.h"

namespace qconform::report {

/// A row for each operator of each backend: cases computed right and wrong, rightly refused, declined, mistrusted;
/// below it the kinds and the reasons. `verbose`: how many elements meet which tier.
[[nodiscard]] std::string backend_table(const Report& report, const Painter& paint, bool verbose);

/// Why nothing was judged of a backend: "all 4,235 valid cases declined: no kernel".
[[nodiscard]] std::string why_not_judged(const BackendResult& backend);

}  // namespace qconform::report
