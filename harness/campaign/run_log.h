// Records one run of a campaign, from its start or from --resume on, in the journal, and says how far it is.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "harness/campaign/campaign_aggregate.h"
#include "harness/campaign/journal_store.h"
#include "harness/report/progress.h"

namespace qconform::campaign {

class RunLog {
 public:
  /// The store, which is open, outlives it.
  explicit RunLog(JournalStore& store) : store_(store) {}

  /// Resumes the campaign in the store, if it is the same one, or starts it there. True where it resumes.
  [[nodiscard]] Result<bool> begin(const Identity& identity, int jobs, std::vector<std::string>& remarks);

  /// Seconds that this run has taken since begin().
  [[nodiscard]] double seconds() const {
    return std::max(0.0, std::chrono::duration<double>(Clock::now() - start_).count());
  }
  /// "running", and after end() why it ended.
  [[nodiscard]] const std::string& ended() const { return run_.ended; }
  [[nodiscard]] bool is_running() const { return run_.ended == "running"; }
  void end(const char* why) { run_.ended = why; }
  /// Number of cases of this run.
  [[nodiscard]] std::uint64_t cases() const { return run_.cases; }
  void set_cases(std::uint64_t cases) { run_.cases = cases; }

  /// Whether to note progress again: more often early on, so that short campaigns have a curve too.
  [[nodiscard]] bool is_due() const { return seconds() >= next_note_; }
  /// Notes where the campaign stands, and fills in the point's seconds. JournalStore::commit() makes it durable.
  void note(ProgressPoint point);

 private:
  using Clock = std::chrono::steady_clock;

  JournalStore& store_;
  CampaignRun run_;
  std::string id_;
  double seconds_before_ = 0;
  double next_note_ = 1;
  Clock::time_point start_ = Clock::now();
};

// Progress of a campaign, from the sum of its blocks.

[[nodiscard]] Progress progress_of(const CampaignAggregate& sum);

/// Counts the kinds of failures that no waiver covers and whose symptom is known.
[[nodiscard]] std::uint64_t kinds_of(const CampaignAggregate& sum);
/// Adds the keys of those failures to `seen`; returns whether there were new ones.
[[nodiscard]] bool note_failures(const CampaignAggregate& sum, std::set<FailureKey>& seen);

}  // namespace qconform::campaign
