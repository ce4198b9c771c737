// The options that say where backends run and what they may take, the same for every command that
// runs them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/backend/select.h"

namespace qconform::cli {

struct IsolationOptions {
  std::string which = "third-party";
  double timeout = Isolation().timeout;            ///< seconds
  std::int64_t memory = Isolation().memory >> 20;  ///< MiB
  std::string guard = "sampled";
  int threads = 0;  ///< 0: no check
  std::vector<std::string> cpus;
  std::string arm64_program;
};

/// `--cpu`, of commands that take several backends, is added beside the others.
void add_cpu_option(CLI::App& command, IsolationOptions& options);
void add_isolation_options(CLI::App& command, IsolationOptions& options);

[[nodiscard]] Result<backend::IsolationPolicy> chosen_isolation(const IsolationOptions& options);

}  // namespace qconform::cli
