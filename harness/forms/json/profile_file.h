// Profiles by their names on the command line, and pinned ones as files of JSON; docs/formats.md describes the file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "harness/base/error.h"
#include "harness/core/profile.h"

namespace qconform::diagnose {

[[nodiscard]] std::string pinned_profile_json(const PinnedProfile& profile);
/// Reads strictly. An error's field is the JSON path; unknown operators, choices and variants are errors.
[[nodiscard]] Result<PinnedProfile> read_pinned_profile_json(std::string_view text);
/// Reads a pinned profile from a file, strictly.
[[nodiscard]] Result<PinnedProfile> load_pinned_profile(const std::filesystem::path& path);

}  // namespace qconform::diagnose

namespace qconform {

/// `profile`: a name of profiles(), or a file that identify wrote. `overflow`: "wrap" or "permissive" (rule C17).
/// Errors name the option.
[[nodiscard]] Result<Policy> policy_named(const std::string& profile, const std::string& overflow);

}  // namespace qconform
