// The answer that a pinned profile gives to a case.
#pragma once

#include <optional>

#include "harness/core/profile.h"
#include "harness/model/defects/node_kind.h"
#include "harness/model/operator.h"

namespace qconform::diagnose {

/// Which nodes the pin speaks of.
[[nodiscard]] KindPattern pattern_of(const Pin& pin);

/// The only right output of the case under the profile; nullopt where it pins nothing for the case, which
/// is then judged as usual. `classification` is the case's.
[[nodiscard]] std::optional<Tensor> pinned_output(const Case& test_case, const Classification& classification,
                                                  const PinnedProfile& profile);

/// The named profile whose arithmetic the profile pins, so that in-tree kernels use it;
/// `conformance` where there is none.
[[nodiscard]] Profile named_profile_like(const PinnedProfile& profile);

}  // namespace qconform::diagnose
