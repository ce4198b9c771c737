// Runs a short command to its end.
#pragma once

#include <optional>
#include <string>

#include "harness/core/error.h"

namespace qconform::guided {

struct Finished {
  std::optional<int> status;  ///< as waitpid gives it; absent where it was ended because it took too long
  std::string output;         ///< what it printed, to stdout and stderr

  [[nodiscard]] bool succeeded() const { return status && *status == 0; }
};

/// Runs it in a shell, for so many seconds at most. Errors: it cannot be started.
[[nodiscard]] Result<Finished> run_command(const std::string& command, double seconds);

}  // namespace qconform::guided
