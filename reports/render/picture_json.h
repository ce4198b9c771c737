// Pictures as the JSON report states them. Internal to the renderers.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/core/picture.h"

namespace qconform::report {

[[nodiscard]] nlohmann::ordered_json picture_json(const Picture& picture);

}  // namespace qconform::report
