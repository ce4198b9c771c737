// Where a run took place.
#pragma once

#include "harness/core/report.h"

namespace qconform {

/// Version, commit, compiler, CPU, operating system, time, kernel sets.
[[nodiscard]] Environment current_environment();

}  // namespace qconform
