// The report as JSON: the form that every other one is made from. Described by
// reports/schema/report-1.schema.json.
#pragma once

#include <string>

#include "harness/core/report.h"

namespace qconform::report {

/// Version of the JSON form; it grows when a reader of the older form could be misled.
inline constexpr int kJsonVersion = 1;

[[nodiscard]] std::string to_json(const Report& report);

}  // namespace qconform::report
