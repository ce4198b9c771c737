// A large case with a sample of its outputs, so that little of it is computed to judge an answer that is there already.
#pragma once

#include <cstdint>

#include "harness/core/case.h"
#include "harness/model/draws/draws.h"

namespace qconform {

/// Elements of an output that are judged where it has more.
inline constexpr std::int64_t kSampledElements = 4096;

/// Products that all judged elements of an output have together, where that leaves at least kLeastSample of them.
inline constexpr std::int64_t kSampledProducts = std::int64_t{1} << 21;
inline constexpr std::int64_t kLeastSample = 512;

/// Returns the case with outputs of at most about `most` elements each, fewer where each is a sum of many products:
/// tiles of neighbours, drawn from `rng`, the first and the last one among them. The graph gathers them, and the
/// recorded outputs are the same elements. Of a recurrent layer, all steps of a few hidden units are left, and its
/// states are shown (Case::shown_outputs). Of a MatMulNBits alone, tiles of columns are left, with their weights. The
/// note says how many elements are left. A case of few elements, one without recorded outputs, and one that is judged
/// by itself stay as they are.
[[nodiscard]] Case sampled(Case test_case, std::int64_t most, Rng& rng);

}  // namespace qconform
