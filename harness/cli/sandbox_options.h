// The options that say where backends run and what they may take, the same for every command that
// runs them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/backends/select.h"

namespace qconform::cli {

struct SandboxOptions {
  std::string which = "third-party";
  double timeout = SandboxLimits().timeout;            ///< seconds
  std::int64_t memory = SandboxLimits().memory >> 20;  ///< MiB
  std::string guard = "sampled";
  int threads = 0;  ///< 0: no check
  std::vector<std::string> cpus;
  bool valid_only = false;
  std::string arm64_program;
};

/// `--cpu`, of commands that take several backends, is added beside the others.
void add_cpu_option(CLI::App& command, SandboxOptions& options);
/// `--valid-only`, of commands that judge suites.
void add_valid_only_option(CLI::App& command, SandboxOptions& options);
void add_sandbox_options(CLI::App& command, SandboxOptions& options);

/// Adds the option that names the program for the other processor, which is this machine's own affair.
void add_arm64_option(CLI::App& command, SandboxOptions& options);

/// Writes the options that can change a verdict, as on a command line.
[[nodiscard]] std::string sandbox_text(const SandboxOptions& options);
/// Reads the options that sandbox_text() wrote; other text leaves them at their defaults.
[[nodiscard]] SandboxOptions sandbox_from(const std::string& text);

[[nodiscard]] Result<backend::SandboxPolicy> chosen_sandbox(const SandboxOptions& options);

}  // namespace qconform::cli
