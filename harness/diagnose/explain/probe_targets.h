// At which hazards generated cases aim while a failure is explained.
#pragma once

#include <span>
#include <vector>

#include "harness/diagnose/explain/candidates.h"
#include "harness/diagnose/explain/observation.h"
#include "harness/hazards/hazard.h"

namespace qconform::diagnose {

/// What all failures have in common, and everything about rounding where they are about ties.
[[nodiscard]] std::vector<Hazard> common_hazards(const Operator& op, std::span<const Observation* const> failures);

/// Where those of the `known` defects show that some of the candidates have and others lack; where
/// `few_failures`, those that all of them have, too.
[[nodiscard]] std::vector<Hazard> separating_hazards(const Operator& op, std::span<const DefectSet* const> candidates,
                                                     std::span<const Defect* const> known, bool few_failures);

}  // namespace qconform::diagnose
