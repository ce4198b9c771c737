// The gate: a new report held against the report of a baseline.
#pragma once

#include "harness/core/error.h"
#include "harness/engine/waivers.h"
#include "reports/gate/change.h"

namespace qconform::gate {

/// Everything that changed, by suite, hazard, backend, operator and finding. Whatever was tested less than in
/// the baseline is worse, as is a finding that it does not have. `waivers`: those that may excuse findings, or
/// null: then those count that the run was made with. Reports under different profiles or overflow policies
/// are refused: what is right differs.
[[nodiscard]] Result<Comparison> compare(Side baseline, Side current, const Waivers* waivers);

}  // namespace qconform::gate
