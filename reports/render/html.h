// A report as one HTML file that needs nothing else.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/error.h"

namespace qconform::report {

/// The page with the report, and the benchmark unless that text is empty. `report_json` and `bench_json`
/// are texts that to_json() writes, of this version or an older one. Errors name what is wrong with them,
/// in the field "report" or "bench"; field "viewer": this build has no page.
[[nodiscard]] Result<std::string> to_html(std::string_view report_json, std::string_view bench_json);

}  // namespace qconform::report
