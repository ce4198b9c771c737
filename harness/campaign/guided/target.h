// The fuzz target that guides a campaign: fuzz/differential.cc, built with libFuzzer.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/error.h"

namespace qconform::guided {

struct Target {
  std::filesystem::path program;
  std::string version;  ///< of qconform, that it was built from
  std::string commit;
};

/// `named` or, where that is empty, the environment variable QCONFORM_FUZZ_TARGET, or else the first that there is of
/// fuzz_differential beside this program, in ../lib/qconform from there, and in the build trees of the presets fuzz and
/// asan-ubsan beside this one's. Errors: there is none, or it is built without libFuzzer.
[[nodiscard]] Result<Target> find_target(const std::string& named);

/// Words of a command line that libFuzzer repeats to a shell unquoted. Errors: a character that means something to it.
[[nodiscard]] Result<void> check_words(const std::vector<std::string>& words);

}  // namespace qconform::guided
