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

/// For the program of another processor, which is this machine's own affair.
void add_arm64_option(CLI::App& command, SandboxOptions& options);

/// What of the options can change a verdict, as they are written on a command line.
[[nodiscard]] std::string sandbox_text(const SandboxOptions& options);
/// The same back; other text leaves the options as they are by default.
[[nodiscard]] SandboxOptions sandbox_from(const std::string& text);

[[nodiscard]] Result<backend::SandboxPolicy> chosen_sandbox(const SandboxOptions& options);

}  // namespace qconform::cli
