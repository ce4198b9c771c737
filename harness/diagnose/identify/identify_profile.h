// Pinned profiles of what was identified.
#pragma once

#include <string_view>
#include <vector>

#include "harness/core/profile.h"
#include "harness/diagnose/identify/identify.h"

namespace qconform::diagnose {

/// What was identified. An operator of which an experiment found none of the known variants is left out, or the
/// types for which it did. Of several variants that no case tells apart the first is taken, of what the backend
/// declines the reference's.
[[nodiscard]] PinnedProfile pinned_profile(const Identification& identification);

/// Of one operator: a pin for each set of nodes that differs from others. `with_narrowed`: also what was found where
/// the backend has a defect beside its arithmetic (Answer::narrowed).
[[nodiscard]] std::vector<Pin> pins_of(const Identification& identification, std::string_view op_type,
                                       bool with_narrowed);

}  // namespace qconform::diagnose
