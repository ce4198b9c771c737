// An identification as JSON: reports/schema/identification-1.schema.json states its form.
#pragma once

#include <string>

#include "harness/diagnose/identify/identify.h"

namespace qconform::diagnose {

[[nodiscard]] std::string identification_json(const Identification& identification);

}  // namespace qconform::diagnose
