// Where a run took place, as every JSON form states it. Internal to the renderers.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/core/report.h"

namespace qconform::report {

[[nodiscard]] nlohmann::ordered_json environment_json(const Environment& environment);

}  // namespace qconform::report
