// Pinned profiles: from an identification, to and from a file, and what they make of a case.
// docs/formats.md describes the file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/error.h"
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
/// Of the nodes that it speaks of.
[[nodiscard]] KindPattern pattern_of(const Pin& pin);

/// The only right output of the case under the profile; nullopt where it pins nothing for the case, which
/// is then judged as usual. `classification` is the case's.
[[nodiscard]] std::optional<Tensor> pinned_output(const Case& test_case, const Classification& classification,
                                                  const PinnedProfile& profile);

/// The named profile whose arithmetic the profile pins, so that in-tree kernels use it;
/// `conformance` where there is none.
[[nodiscard]] Profile named_profile_like(const PinnedProfile& profile);

[[nodiscard]] std::string pinned_profile_json(const PinnedProfile& profile);
/// Reads strictly. An error's field is the JSON path; unknown operators, choices and variants are errors.
[[nodiscard]] Result<PinnedProfile> read_pinned_profile_json(std::string_view text);
/// The same for a file.
[[nodiscard]] Result<PinnedProfile> load_pinned_profile(const std::filesystem::path& path);

}  // namespace qconform::diagnose

namespace qconform {

/// `profile`: a name of profiles(), or a file that identify wrote. `overflow`: "wrap" or "permissive" (rule C17).
/// Errors name the option.
[[nodiscard]] Result<Policy> policy_named(const std::string& profile, const std::string& overflow);

}  // namespace qconform
