// Single cases as the JSON report states them. Internal to the renderers.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/core/case_results.h"
#include "harness/core/report.h"

namespace qconform::report {

/// Columns. Names that repeat stand in lists of their own, and the columns hold positions in these.
[[nodiscard]] nlohmann::ordered_json results_json(const CaseResults& results,
                                                  const std::vector<BackendResult>& backends);

}  // namespace qconform::report
