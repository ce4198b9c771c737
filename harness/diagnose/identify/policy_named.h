// From the names that options give to a policy.
#pragma once

#include <string>

#include "harness/core/error.h"
#include "harness/core/profile.h"

namespace qconform {

/// `profile`: a name of profiles(), or a file that identify wrote. `overflow`: "wrap" or "permissive" (rule C17).
/// Errors name the option.
[[nodiscard]] Result<Policy> policy_named(const std::string& profile, const std::string& overflow);

}  // namespace qconform
