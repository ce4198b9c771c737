// Runs suites on backends, judges, and fills the report.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/profile.h"
#include "harness/core/suite.h"
#include "harness/engine/cold_replay.h"
#include "harness/engine/findings.h"
#include "harness/engine/waivers.h"
#include "harness/report/campaign_result.h"
#include "harness/report/report.h"

namespace qconform {

/// Time-outs in a row after which `run` drops a backend. Refusals do not count.
inline constexpr int kMostTimeoutsInARow = 10;

/// Counts the time-outs in a row of each backend.
class HangWatch {
 public:
  explicit HangWatch(std::size_t backends) : timeouts_(backends) {}
  /// Notes a case that was not refused. True at the time-out that is one too many.
  [[nodiscard]] bool is_too_much(std::size_t backend, bool timed_out) {
    timeouts_[backend] = timed_out ? timeouts_[backend] + 1 : 0;
    return timeouts_[backend] == kMostTimeoutsInARow;
  }

 private:
  std::vector<int> timeouts_;
};

/// The texts of `stopped` in a report: of a backend, and of the report.
inline constexpr const char* kHangs = "10 cases in a row timed out, refused ones aside: later cases were not sent";
inline constexpr const char* kInterrupted = "it was interrupted: later cases were not judged";
inline constexpr const char* kFailedEnough = "enough cases have failed (--fail-fast): later cases were not judged";

struct SuiteRunOptions {
  Policy policy;
  std::function<void(const Progress&)> progress = {};  ///< called after every case; may be empty
  std::function<bool()> stop = {};                     ///< asked before every case whether to end; may be empty
  const Waivers* waivers = nullptr;                    ///< waivers of what may fail; null: nothing may
  PinnedDraft* pins = nullptr;                         ///< gets the failures that no waiver covers; may be null
  Diagnoser* diagnoser = nullptr;                      ///< who groups failures by what is wrong; may be absent
  std::optional<std::uint64_t> fail_fast = {};         ///< ends at so many failing verdicts that no waiver covers
  /// Called with each failure that no waiver covers, as soon as it is judged; may be empty.
  std::function<void(std::size_t backend, const Case&, const Verdict&)> news = {};
  /// The diagnoser gets failures when everything has been judged, or when those that wait take kWaitingBytes; a run
  /// that ended before its time leaves them unexplained.
  bool explains_last = false;
  ReplayLimits replays = {};            ///< failures of workers that are run once more in processes of their own
  bool drops_hanging_backends = false;  ///< sends no more to one that kMostTimeoutsInARow cases hang
  /// By position of the backend: the same at other levels, for relations between these. Empty: none have any.
  std::vector<std::vector<Backend*>> siblings = {};
  std::optional<RowsKept> results = {};  ///< the single cases that the report lists; absent: none
  /// Called with every case, what was expected of it, and what it came to, in the order of the backends; may be empty.
  std::function<void(const Case&, const Expected&, const std::vector<CaseResult::OfBackend>&)> judged = {};

  /// Whether the run ends before the next case.
  [[nodiscard]] bool ends(std::uint64_t failures) const { return has_failed_enough(failures) || (stop && stop()); }
  [[nodiscard]] bool has_failed_enough(std::uint64_t failures) const { return fail_fast && failures >= *fail_fast; }
  /// Says in the report why it ended before its time, if it did. What was judged of a backend is a part then.
  void say_why_stopped(std::uint64_t failures, Report& report) const;
};

/// Bytes of the cases and outputs that wait to be explained.
inline constexpr std::size_t kWaitingBytes = std::size_t{256} << 20;

/// A run of suites one after the other, so that the next one can be made of what was learnt meanwhile. Fills suites,
/// backends, findings and times of the report. All arguments outlive it.
class SuiteRun {
 public:
  SuiteRun(std::vector<std::unique_ptr<Backend>>& backends, const SuiteRunOptions& options, Report& report);
  SuiteRun(const SuiteRun&) = delete;
  SuiteRun& operator=(const SuiteRun&) = delete;
  ~SuiteRun();

  /// Runs every case of the suite on every backend, unless enough have failed; a source's error ends it. Of the
  /// failures that wait those of a lower `turn` are explained first: cases drawn for a backend show early that it is
  /// wrong, and plain ones show better why.
  [[nodiscard]] Result<void> run(Suite& suite, int turn = 0);
  /// Whether enough have failed, or the run was told to stop: no case is judged any more.
  [[nodiscard]] bool has_ended() const;
  /// Explains what waits, and completes the report. Call it once, last.
  void finish();

 private:
  std::unique_ptr<class SuiteRunner> runner_;
};

/// Runs every case of every suite on every backend; a source's error ends the run.
[[nodiscard]] Result<void> run_suites(std::vector<std::unique_ptr<Suite>>& suites,
                                      std::vector<std::unique_ptr<Backend>>& backends, const SuiteRunOptions& options,
                                      Report& report);

}  // namespace qconform
