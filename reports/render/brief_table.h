// A run in a few lines: a row for each backend, a line for each finding.
#pragma once

#include <string>

#include "harness/core/report.h"
#include "reports/render/painter.h"

namespace qconform::report {

/// How many cases each backend computed right and wrong, a column for each operator: "1,309 / 0", "-" where it computed
/// none; and how many findings are waived.
[[nodiscard]] std::string brief_table(const Report& report, const Painter& paint);

/// "F1 wrong QLinearConv on mine, 39 cases: x [1,1,3] * w [1,1,3]; y[0,0,0] got 2, ... admissible {1}", for each
/// finding that no waiver covers.
[[nodiscard]] std::string finding_rows(const Report& report, const Painter& paint);

}  // namespace qconform::report
