#include "harness/cli/policy.h"

#include <fmt/format.h>

#include "harness/diagnose/identify_profile.h"

namespace qconform::cli {
namespace {

// What cannot be the name of a profile is the path of a file.
bool is_file(const std::string& profile) {
  return profile.find_first_of("/.") != std::string::npos;
}

Result<Policy> pinned_policy(const std::string& file) {
  auto pinned = diagnose::load_pinned_profile(file);
  if (!pinned) return tl::unexpected(pinned.error().in("--profile"));
  Policy policy;
  policy.profile = diagnose::named_profile_like(*pinned);
  policy.pinned = std::make_shared<const PinnedProfile>(*std::move(pinned));
  return policy;
}

Result<Policy> named_policy(const std::string& name) {
  if (const auto profile = profile_named(name)) return Policy{*profile};
  std::string known;
  for (const ProfileInfo& info : profiles()) known += (known.empty() ? "" : ", ") + std::string(info.name);
  return fail("--profile", fmt::format("expected one of {}, or a file, got \"{}\"", known, name));
}

}  // namespace

void add_policy_options(CLI::App& command, PolicyOptions& options) {
  command
      .add_option("--profile", options.profile,
                  "Which right answers are admitted: a name (see: qconform list profiles), or a file of identify -o")
      ->capture_default_str();
  command
      .add_option("--overflow", options.overflow,
                  "ConvInteger beyond 32 bits (rule C17): wrap, or permissive to admit saturation too")
      ->capture_default_str();
}

Result<Policy> chosen_policy(const PolicyOptions& options) {
  auto policy = is_file(options.profile) ? pinned_policy(options.profile) : named_policy(options.profile);
  if (!policy) return policy;
  if (options.overflow != "wrap" && options.overflow != "permissive") {
    return fail("--overflow", fmt::format("expected wrap or permissive, got \"{}\"", options.overflow), "C17");
  }
  policy->overflow = options.overflow == "wrap" ? OverflowPolicy::wrap : OverflowPolicy::permissive;
  return policy;
}

}  // namespace qconform::cli
