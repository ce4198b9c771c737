// The report as JSON: the form that every other one is made from. harness/core/report.h describes it.
#pragma once

#include <string>

#include "harness/core/report.h"

namespace qconform::report {

[[nodiscard]] std::string to_json(const Report& report);

}  // namespace qconform::report
