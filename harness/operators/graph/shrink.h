// How failing graphs get smaller: nodes first, then what they read.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/outcome.h"
#include "harness/core/profile.h"
#include "harness/model/reductions/edits.h"
#include "harness/model/reductions/reductions.h"

namespace qconform::shrink {

[[nodiscard]] std::span<const Reduction> graph_reductions();

/// Axes of the same length, in one tensor of the graph or in several: whether they are the same index space, the
/// contract tells.
[[nodiscard]] std::vector<Extent> graph_extents(const Case& test_case, const std::vector<std::int64_t>& wrong_element);

}  // namespace qconform::shrink
