#include "harness/cli/policy.h"

#include <fmt/format.h>

namespace qconform::cli {

void add_policy_options(CLI::App& command, PolicyOptions& options) {
  command.add_option("--profile", options.profile, "Which right answers are admitted (see: qconform list profiles)")
      ->capture_default_str();
  command
      .add_option("--overflow", options.overflow,
                  "ConvInteger beyond 32 bits (rule C17): wrap, or permissive to admit saturation too")
      ->capture_default_str();
}

Result<Policy> chosen_policy(const PolicyOptions& options) {
  const auto profile = profile_named(options.profile);
  if (!profile) {
    std::string known;
    for (const ProfileInfo& info : profiles()) known += (known.empty() ? "" : ", ") + std::string(info.name);
    return fail("--profile", fmt::format("expected one of {}, got \"{}\"", known, options.profile));
  }
  if (options.overflow != "wrap" && options.overflow != "permissive") {
    return fail("--overflow", fmt::format("expected wrap or permissive, got \"{}\"", options.overflow), "C17");
  }
  return Policy{*profile, options.overflow == "wrap" ? OverflowPolicy::wrap : OverflowPolicy::permissive};
}

}  // namespace qconform::cli
