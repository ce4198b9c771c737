// Chooses the processors that a process runs on, and pins it to them.
#pragma once

#include <vector>

#include "harness/base/error.h"

namespace qconform::bench {

/// `threads` processors of those that this process may use, the last ones: the first serve more interrupts.
/// Errors: fewer than that.
[[nodiscard]] Result<std::vector<int>> choose_cpus(int threads);

/// Pins the calling process to `cpus`, which choose_cpus() gave; empty: leaves it as it is.
void pin(const std::vector<int>& cpus);

}  // namespace qconform::bench
