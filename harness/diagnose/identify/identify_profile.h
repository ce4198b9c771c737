// Pinned profiles of what was identified.
#pragma once

#include <string_view>
#include <vector>

#include "harness/core/profile.h"
#include "harness/diagnose/identify/identify.h"

namespace qconform::diagnose {

/// Pins what was identified. Leaves out an operator of which an experiment found none of the known variants, or the
/// types for which it did. Takes the first of several variants that no case tells apart, and the reference's for what
/// the backend declines.
[[nodiscard]] PinnedProfile pinned_profile(const Identification& identification);

/// Returns the pins of one operator: one for each set of nodes that differs from others. `with_narrowed`: also for what
/// was found where the backend has a defect beside its arithmetic (Answer::narrowed).
[[nodiscard]] std::vector<Pin> pins_of(const Identification& identification, std::string_view op_type,
                                       bool with_narrowed);

}  // namespace qconform::diagnose
