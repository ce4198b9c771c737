#include "harness/cli/sandbox_options.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "harness/backends/kinds.h"

namespace qconform::cli {

void add_cpu_option(CLI::App& command, SandboxOptions& options) {
  command
      .add_option(
          "--cpu", options.cpus,
          "Processors, by commas: native, or models that qemu-x86_64, qemu-aarch64 or Bochs emulates; each backend "
          "runs on each, and is named BACKEND[CPU] there (docs/other-cpus.md)")
      ->delimiter(',');
}

void add_valid_only_option(CLI::App& command, SandboxOptions& options) {
  command.add_flag("--valid-only", options.valid_only,
                   "Send valid cases only, to kernels that assume valid nodes; BACKEND@valid-only does so for one of "
                   "several");
}

void add_sandbox_options(CLI::App& command, SandboxOptions& options) {
  command
      .add_option(
          "--isolation", options.which,
          "Backends that run in worker processes, in guarded memory: third-party, all or none; confined: third-party "
          "ones in namespaces of their own too, without network and with read-only files (bubblewrap)")
      ->capture_default_str();
  command.add_option("--timeout", options.timeout, "Seconds that a worker may take for one run of a case")
      ->capture_default_str();
  command.add_option("--memory-limit", options.memory, "MiB that a worker may take beside the loaded backend")
      ->capture_default_str();
  command
      .add_option(
          "--guard", options.guard,
          "full: run every case four times, at two places in memory and after another node, to find what one run "
          "hides; sampled: do so for a share of the cases and for those that fail")
      ->capture_default_str();
  add_arm64_option(command, options);
  command.add_flag("--threads-check{4}", options.threads,
                   "Run each prepared case from this many threads at once too (4) and compare the outputs");
}

void add_arm64_option(CLI::App& command, SandboxOptions& options) {
  command.add_option("--arm64-program", options.arm64_program,
                     "qconform built for arm64, for its processors (default: build/arm64-qemu/bin/qconform)");
}

std::string sandbox_text(const SandboxOptions& options) {
  return fmt::format("--isolation {} --timeout {} --memory-limit {} --guard {} --threads-check {}", options.which,
                     options.timeout, options.memory, options.guard, options.threads);
}

SandboxOptions sandbox_from(const std::string& text) {
  SandboxOptions options;
  std::istringstream words(text);
  for (std::string name; words >> name;) {
    if (name == "--isolation") words >> options.which;
    if (name == "--timeout") words >> options.timeout;
    if (name == "--memory-limit") words >> options.memory;
    if (name == "--guard") words >> options.guard;
    if (name == "--threads-check") words >> options.threads;
  }
  return options;
}

Result<backend::SandboxPolicy> chosen_sandbox(const SandboxOptions& options) {
  using Which = backend::SandboxPolicy::Which;
  constexpr double kLongest = 86400;
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  backend::SandboxPolicy policy;
  if (options.which == "all") {
    policy.which = Which::all;
  } else if (options.which == "none") {
    policy.which = Which::none;
  } else if (options.which == "confined") {
    policy.confined = true;
  } else if (options.which != "third-party") {
    return fail("--isolation", fmt::format("expected third-party, all, confined or none, got \"{}\"", options.which));
  }
  if (!(options.timeout > 0 && options.timeout <= kLongest)) {
    return fail("--timeout", fmt::format("expected seconds above 0 and up to {}, got {}", kLongest, options.timeout));
  }
  if (options.memory < 1 || options.memory > kLargest) {
    return fail("--memory-limit", fmt::format("expected 1 to {} MiB, got {}", kLargest, options.memory));
  }
  const bool full = options.guard == "full";
  if (!full && options.guard != "sampled") {
    return fail("--guard", fmt::format("expected sampled or full, got \"{}\"", options.guard));
  }
  if (options.threads != 0 && (options.threads < 2 || options.threads > backend::kMostThreads)) {
    return fail("--threads-check",
                fmt::format("expected 2 to {} threads, got {}", backend::kMostThreads, options.threads));
  }
  policy.limits = {options.timeout, options.memory << 20,
                   full ? SandboxLimits::Guard::full : SandboxLimits::Guard::sampled};
  policy.threads = options.threads;
  policy.arm64_program = options.arm64_program;
  return policy;
}

}  // namespace qconform::cli
