#include "harness/cli/policy.h"

#include "harness/diagnose/identify/policy_named.h"

namespace qconform::cli {

void add_policy_options(CLI::App& command, PolicyOptions& options) {
  command
      .add_option(
          "--profile", options.profile,
          "Which right answers to admit: a name (see: qconform list profiles), or a file that identify -o wrote")
      ->capture_default_str();
  command
      .add_option("--overflow", options.overflow,
                  "ConvInteger beyond 32 bits (rule C17): wrap, or permissive to admit saturation too")
      ->capture_default_str();
}

Result<Policy> chosen_policy(const PolicyOptions& options) {
  return policy_named(options.profile, options.overflow);
}

}  // namespace qconform::cli
