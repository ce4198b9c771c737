// Runs one case on one backend.
#pragma once

#include "harness/core/backend.h"
#include "harness/core/outcome.h"
#include "harness/engine/guarded_output.h"

namespace qconform {

/// Prepares and runs the case: in the backend's worker, if it has one; else in this process, where it is
/// trusted not to crash.
[[nodiscard]] Outcome execute(Backend& backend, const Case& test_case, GuardedOutput& output);

}  // namespace qconform
