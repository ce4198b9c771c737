// The lines of an instrumented plugin that failing cases execute and passing ones do not: where a wrong line may be.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "harness/backends/code_coverage/code_coverage.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"
#include "harness/engine/execute.h"
#include "harness/model/judge/judge.h"
#include "harness/report/report.h"

namespace qconform {

/// Watches the runs of a backend that has code_coverage(). The backend outlives it.
class CodeSpectra {
 public:
  using Run = std::function<Outcome(const Case&)>;
  static constexpr std::size_t kMostSuspects = 5;
  static constexpr std::size_t kMostRuns = 4000;

  CodeSpectra(Backend& backend, const Policy& policy) : code_(*backend.code_coverage()), policy_(policy) {}

  /// Runs cases as `run` does, and notes which edges each executes and whether it fails: of each case once, and of
  /// kMostRuns cases at most. This object outlives the result.
  [[nodiscard]] Run watching(Run run);
  /// Ranks lines by Ochiai's coefficient: failing cases that execute a line, over the root of all failing ones times
  /// all that execute it. A line with several blocks counts by the most suspect one. Lines that as great a share of the
  /// passing cases executes tell nothing, and are left out. Errors: of list_code(), and where the plugin has no debug
  /// information.
  [[nodiscard]] Result<Suspects> suspects() const;

 private:
  struct WatchedRun {
    std::vector<std::uint32_t> edges;
    bool fails;
  };

  CodeCoverage& code_;
  const Policy& policy_;
  std::set<std::uint64_t> cases_;  ///< digests of those that were run
  std::vector<WatchedRun> runs_;
};

}  // namespace qconform
