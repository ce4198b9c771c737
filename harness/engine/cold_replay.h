// Failing cases once more, each in a process of its own: what a backend answers to a case alone is its answer; what it
// answers after other nodes only is another failure, which those nodes belong to.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/core/verdict.h"
#include "harness/report/report.h"

namespace qconform {

/// A failing case as it is to be told.
struct ColdReplay {
  Case test_case;  ///< with the fewest nodes before it after which it fails, as far as some were found
  /// The outcome alone in a process, if it fails there; else that outcome with what came after others
  /// (Outcome::after_others).
  Outcome outcome;
  bool fails_alone = true;
};

/// Nodes after which a backend failed that was right without them: they are tried first on its next failures.
class KnownSequences {
 public:
  /// Searches that are made of what a worker had run; each takes up to a hundred processes.
  static constexpr int kMostSearches = 8;

  explicit KnownSequences(int searches = kMostSearches) : searches_left_(searches) {}

  /// Takes those before the case in.
  void add(const Case& test_case);
  /// The same node with a change that was to blame.
  [[nodiscard]] std::vector<std::vector<Case>> changed(const Case& test_case) const;
  /// Nodes that were to blame and differ in more.
  [[nodiscard]] const std::vector<std::vector<Case>>& others() const { return others_; }
  /// Whether another search may be made, which counts.
  [[nodiscard]] bool may_search() { return searches_left_-- > 0; }

 private:
  static constexpr std::size_t kMost = 4;

  std::vector<std::string> differences_;  ///< difference_text() of those that differ in one thing
  std::vector<std::vector<Case>> others_;
  int searches_left_;
};

/// Whether memory grows with each node or each run of the case: a GrewMemory where it does, else nothing.
[[nodiscard]] std::optional<Outcome> grown_memory(Worker& worker, const Case& test_case);

/// Runs a case that failed on the worker once more, alone in a new process, as `qconform replay` does. Where it does
/// not fail there, looks for the nodes before it that make it fail: known ones, the same node with one thing changed,
/// then what the worker had run, from which all are left out that are not needed; where it ran out of memory, whether
/// memory grows (GrewMemory). Nothing where no process can be had, and where a failure that may be chance does not come
/// back.
[[nodiscard]] std::optional<ColdReplay> replay_cold(Worker& worker, const Case& test_case, const Outcome& failed,
                                                    const Policy& policy, KnownSequences& known);

/// Whether a case fails in a process of its own, after the nodes before it, if it has some; nothing where no process
/// can be had.
[[nodiscard]] std::optional<bool> fails_cold(Worker& worker, const Case& test_case, const Policy& policy);

/// Replays the example of each finding cold, but for those that were or that a waiver covers, and notes it
/// (Finding::replayed). One that does not fail alone becomes a finding of its own kind, with the nodes before it.
void replay_findings(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy);

/// Runs a case in a process of its own, and in another one after the nodes before it: for who judges a case that has
/// such nodes. Where no process can be had, a backend runs them first, and has no answer from a process of its own.
[[nodiscard]] Outcome execute_after_others(Backend& backend, const Case& test_case);

/// How many failures of a backend a run replays cold.
struct ReplayLimits {
  std::uint64_t first = 16;                      ///< the first ones; later ones now and then
  double seconds = 6;                            ///< wall-clock, of all replays, and
  double share = 0.25;                           ///< of the time since the run began
  int searches = KnownSequences::kMostSearches;  ///< for the nodes before a failure
};

/// Which failures of a backend are replayed cold: the first ones and some of the later ones; every one once an answer
/// was found to depend on earlier nodes; none while that has taken too long.
class ColdReplays {
 public:
  explicit ColdReplays(const ReplayLimits& limits) : limits_(limits), known_(limits.searches) {}

  /// Whether an answer was found to depend on earlier nodes.
  [[nodiscard]] bool remembers() const { return remembers_; }
  /// replay_cold(), if this failure is one of those; else nothing.
  [[nodiscard]] std::optional<ColdReplay> replay(Worker& worker, const Case& test_case, const Outcome& failed,
                                                 const Policy& policy);

 private:
  ReplayLimits limits_;
  std::uint64_t failures_ = 0;
  bool remembers_ = false;
  KnownSequences known_;
  double seconds_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace qconform
