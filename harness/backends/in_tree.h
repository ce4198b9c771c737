// The in-tree kernel sets as backends.
#pragma once

#include <memory>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/profile.h"
#include "reference/kernels/kernels.h"

namespace qconform::backend {

/// A kernel set under one requantization arithmetic. Refuses what is out of contract, and odd scales
/// for which any value would do (rule C21).
[[nodiscard]] std::unique_ptr<Backend> in_tree(const reference::KernelSet& kernels, RoundingProfile profile,
                                               std::string name);

}  // namespace qconform::backend
