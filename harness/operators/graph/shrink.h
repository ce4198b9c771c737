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
#include "harness/engine/shrink/extents.h"
#include "harness/engine/shrink/reductions.h"

namespace qconform::shrink {

[[nodiscard]] std::span<const Reduction> graph_reductions();

/// The nodes of the smallest part of the graph that fails in the same way:
/// "DequantizeLinear+Relu+QuantizeLinear, by one".
[[nodiscard]] std::string graph_culprit(const Case& failing, const std::function<Outcome(const Case&)>& run,
                                        const Policy& policy);

/// Axes of the same length, in one tensor of the graph or in several: whether they are the same index space, the
/// contract tells.
[[nodiscard]] std::vector<Extent> graph_extents(const Case& test_case, const std::vector<std::int64_t>& wrong_element);

}  // namespace qconform::shrink
