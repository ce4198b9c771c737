// What comes near where no set of defects reproduces everything that was observed.
#pragma once

#include <span>
#include <vector>

#include "harness/diagnose/explain/budget.h"
#include "harness/diagnose/explain/evidence.h"

namespace qconform::diagnose {

/// The set of one or two of the `known` defects that comes nearest: one that reproduces every element of the
/// case in question and explains more than it contradicts, or one that explains most wrong elements. Empty
/// where none is worth naming.
[[nodiscard]] std::vector<DefectSet> nearest_set(const CandidateTest& test, const Evidence& evidence,
                                                 std::span<const Defect* const> known, const Budget& budget);

}  // namespace qconform::diagnose
