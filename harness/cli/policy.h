// The options that say how strictly to judge, the same for every command that judges.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "harness/core/error.h"
#include "harness/core/profile.h"

namespace qconform::cli {

struct PolicyOptions {
  std::string profile = "conformance";
  std::string overflow = "wrap";
};

void add_policy_options(CLI::App& command, PolicyOptions& options);

[[nodiscard]] Result<Policy> chosen_policy(const PolicyOptions& options);

}  // namespace qconform::cli
