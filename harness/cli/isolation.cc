#include "harness/cli/isolation.h"

#include <fmt/format.h>

#include <cmath>

namespace qconform::cli {

void add_isolation_options(CLI::App& command, IsolationOptions& options) {
  command
      .add_option("--isolation", options.which,
                  "Backends that run in worker processes, in guarded memory: third-party, all or none")
      ->capture_default_str();
  command.add_option("--timeout", options.timeout, "Seconds that a worker may take for one case")
      ->capture_default_str();
  command.add_option("--memory-limit", options.memory, "MiB that a worker may take beside the loaded backend")
      ->capture_default_str();
}

Result<backend::IsolationPolicy> chosen_isolation(const IsolationOptions& options) {
  using Which = backend::IsolationPolicy::Which;
  constexpr double kLongest = 86400;
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  backend::IsolationPolicy policy;
  if (options.which == "all") {
    policy.which = Which::all;
  } else if (options.which == "none") {
    policy.which = Which::none;
  } else if (options.which != "third-party") {
    return fail("--isolation", fmt::format("expected third-party, all or none, got \"{}\"", options.which));
  }
  if (!(options.timeout > 0 && options.timeout <= kLongest)) {
    return fail("--timeout", fmt::format("expected seconds above 0 and up to {}, got {}", kLongest, options.timeout));
  }
  if (options.memory < 1 || options.memory > kLargest) {
    return fail("--memory-limit", fmt::format("expected 1 to {} MiB, got {}", kLargest, options.memory));
  }
  policy.limits = {options.timeout, options.memory << 20};
  return policy;
}

}  // namespace qconform::cli
