#include "harness/diagnose/identify/policy_named.h"

#include <fmt/format.h>

#include "harness/diagnose/identify/identify_profile.h"

namespace qconform {
namespace {

// What cannot be the name of a profile is the path of a file.
bool is_file(const std::string& profile) {
  return profile.find_first_of("/.") != std::string::npos;
}

Result<Policy> pinned_policy(const std::string& file) {
  QCONFORM_ASSIGN(auto pinned, in_context("--profile", diagnose::load_pinned_profile(file)));
  Policy policy;
  policy.profile = diagnose::named_profile_like(pinned);
  policy.pinned = std::make_shared<const PinnedProfile>(std::move(pinned));
  return policy;
}

Result<Policy> named_policy(const std::string& name) {
  if (const auto profile = profile_named(name)) return Policy{*profile};
  std::string known;
  for (const ProfileInfo& info : profiles()) known += (known.empty() ? "" : ", ") + std::string(info.name);
  return fail("--profile", fmt::format("expected one of {}, or a file, got \"{}\"", known, name));
}

}  // namespace

Result<Policy> policy_named(const std::string& profile, const std::string& overflow) {
  QCONFORM_ASSIGN(auto policy, is_file(profile) ? pinned_policy(profile) : named_policy(profile));
  if (overflow != "wrap" && overflow != "permissive") {
    return fail("--overflow", fmt::format("expected wrap or permissive, got \"{}\"", overflow), "C17");
  }
  policy.overflow = overflow == "wrap" ? OverflowPolicy::wrap : OverflowPolicy::permissive;
  return policy;
}

}  // namespace qconform
