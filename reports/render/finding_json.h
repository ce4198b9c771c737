// A finding as the JSON report states it. Internal to the renderers.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/core/report.h"

namespace qconform::report {

[[nodiscard]] nlohmann::ordered_json finding_json(const Finding& finding);

}  // namespace qconform::report
