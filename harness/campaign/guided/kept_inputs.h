// Reads the inputs that an engine keeps in folders as cases, each once, and what it leaves when it ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/campaign/guided/libfuzzer.h"
#include "harness/core/case.h"
#include "harness/core/suite.h"
#include "harness/core/verdict.h"

namespace qconform::guided {

class KeptInputs {
 public:
  /// Larger files are skipped. The engine gets the same bound.
  static constexpr std::int64_t kLargest = std::int64_t{16} << 10;

  /// `seed` is the provenance's.
  explicit KeptInputs(std::uint64_t seed) : seed_(seed) {}

  /// Files of the folder that were not there before, by name. Those that are written (.part) are left for later.
  [[nodiscard]] std::vector<std::filesystem::path> fresh(const std::filesystem::path& folder);
  /// The cases in these files: the provenance has their numbers, in the order in which they are asked for. Files
  /// without a case are counted as skipped, and those that are gone left out. This outlives the source.
  [[nodiscard]] std::unique_ptr<Suite> source(std::vector<std::filesystem::path> files);

  /// A case that a source gave, which was not forgotten since.
  [[nodiscard]] Case at(std::uint64_t index) const { return cases_.at(index); }
  /// Index of the last case that a source gave.
  [[nodiscard]] std::uint64_t last_index() const { return next_index_ - 1; }
  void forget_all_but(const std::set<std::uint64_t>& indices);

 private:
  class FileSuite;

  std::uint64_t seed_;
  std::uint64_t next_index_ = 0;
  std::set<std::filesystem::path> known_;
  std::map<std::uint64_t, Case> cases_;
};

/// The case in the bytes of a one-node model, without what the model says of the case beside the node: a campaign
/// judges what is computed. Errors: no such model, an operator that qconform does not know, and cases too large to be
/// judged at once (harness/model/mutate).
[[nodiscard]] Result<Case> case_of_input(std::string_view bytes);

// Decides whose fault it was that an input ended a process of the fuzz target.

/// A backend that ends the fuzz target, with the sanitizers' word for it.
struct Ending {
  std::string backend;  ///< as on the command line
  /// Equal for inputs that end it alike: "crashed:AddressSanitizer: heap-buffer-overflow in f".
  std::string symptom;
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
