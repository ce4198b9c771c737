// Decides whose fault it was that an input ended a process of the fuzz target.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/campaign/guided/libfuzzer.h"
#include "harness/core/verdict.h"

namespace qconform::guided {

/// A backend that ends the fuzz target, with the sanitizers' word for it.
struct Ending {
  std::string backend;  ///< as on the command line
  std::string
      symptom;  ///< the same for inputs that end it alike: "crashed:AddressSanitizer: heap-buffer-overflow in f"
  Verdict verdict;
};

struct Cause {
  std::vector<Ending> backends;
  std::optional<std::string> own_fault;  ///< fault of the fuzz target itself: it ends without a backend, too
};

/// Runs the target once on the input with each backend alone, and once with none. Errors: no process can be started.
[[nodiscard]] Result<Cause> cause_of(const std::filesystem::path& artifact, const LibFuzzerOptions& options,
                                     const std::vector<std::string>& backends);

/// The most telling line of sanitizers, libFuzzer or the target in the log of a process that ended, and the same line
/// without addresses, places and process numbers.
struct LastWords {
  std::string line;
  std::string kind;
};
[[nodiscard]] LastWords last_words(const std::string& log);

}  // namespace qconform::guided
