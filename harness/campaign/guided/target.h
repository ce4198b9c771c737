// The fuzz target that guides a campaign: fuzz/differential.cc, built with libFuzzer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"

namespace qconform::guided {

struct Target {
  std::filesystem::path program;
  std::string version;  ///< version of qconform that it was built from
  std::string commit;
};

/// `named` or, where that is empty, the environment variable QCONFORM_FUZZ_TARGET, or else the first that there is of
/// fuzz_differential beside this program, in ../lib/qconform from there, and in the build trees of the presets fuzz and
/// asan-ubsan beside this one's. Errors: there is none, or it is built without libFuzzer.
[[nodiscard]] Result<Target> find_target(const std::string& named);

/// Words of a command line that libFuzzer repeats to a shell unquoted. Errors: a character that means something to it.
[[nodiscard]] Result<void> check_words(const std::vector<std::string>& words);

struct Finished {
  std::optional<int> status;  ///< as waitpid gives it; absent where it was ended because it took too long
  std::string output;         ///< text that it printed to stdout and stderr

  [[nodiscard]] bool succeeded() const { return status && *status == 0; }
};

/// Runs it in a shell, for so many seconds at most. Errors: it cannot be started.
[[nodiscard]] Result<Finished> run_command(const std::string& command, double seconds);

}  // namespace qconform::guided
