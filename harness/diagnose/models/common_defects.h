// Defects in the stages that families share.
#pragma once

#include <vector>

#include "harness/diagnose/models/defect.h"

namespace qconform::diagnose {

/// In every operator that quantizes (Operator::quantizes).
[[nodiscard]] std::vector<Defect> common_defects();

}  // namespace qconform::diagnose
