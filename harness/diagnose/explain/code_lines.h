// The lines of an instrumented plugin where the wrong one may be, of the findings of a run.
#pragma once

#include <memory>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/profile.h"
#include "harness/report/report.h"

namespace qconform::diagnose {

/// Runs the case of each finding that has a code_coverage() backend, smaller ones and like ones, and sets
/// Finding::suspects (engine/suspects.h). Leaves out waived findings, and those for which the time is not enough: a few
/// seconds each, half a minute in all.
void add_suspects(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy);

}  // namespace qconform::diagnose
