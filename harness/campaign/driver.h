// Runs a campaign: hands out blocks to jobs, keeps the journal, tells the progress, and writes findings while it runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/base/process.h"
#include "harness/base/stopwatch.h"
#include "harness/campaign/block_run.h"
#include "harness/campaign/build_report.h"
#include "harness/campaign/campaign_aggregate.h"
#include "harness/campaign/identity.h"
#include "harness/campaign/journal.h"
#include "harness/report/campaign_result.h"

namespace qconform::campaign {

// The processes that run a campaign's blocks, each with backends of its own: what a library does to its process
// stays there, and memory that it leaks goes with it.

using OpenBackends = std::function<Result<std::vector<std::unique_ptr<Backend>>>()>;

/// A message of a job.
struct JobMessage {
  enum class Kind : std::uint32_t { opened, failed, done, replaced };
  Kind kind = Kind::done;
  Record record;                   ///< blocks that are done, or a part of one: span and aggregate
  std::vector<BackendInfo> infos;  ///< infos of a job that opened its backends
  std::string error;               ///< reason why a job failed, or was replaced
};

class Jobs {
 public:
  /// Forks the processes; they open their backends at once. `close_files` is called in each of them first. A job that
  /// is ended from outside, or whose messages make no sense, is replaced by another, which runs its blocks again.
  Jobs(int count, const OpenBackends& open, const BlockOptions& options, const std::function<void()>& close_files);
  /// Kills the jobs that are left.
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  [[nodiscard]] std::size_t count() const { return jobs_.size(); }
  /// Submitted blocks that are not done.
  [[nodiscard]] std::size_t under_way() const;
  /// A job that takes more blocks now: some run, the next ones wait. nullopt where all are supplied.
  [[nodiscard]] std::optional<std::size_t> next_idle() const;
  /// Hands `blocks` to a job, which is idle. They come back summed up in one message or several: soon where a block
  /// fails in a way that the job has not told of, else about every BlockOptions::sum_seconds.
  void submit(std::size_t job, const Span& blocks);
  /// Asks the jobs to end after the current case: its block comes back as a part, and what had not begun with no cases.
  void stop();
  /// Waits for messages and returns them. Errors: a job died kMostEnds times at the same block, or while it opened its
  /// backends.
  [[nodiscard]] Result<std::vector<JobMessage>> wait(double seconds);
  /// Cases done in unfinished blocks, for progress.
  [[nodiscard]] std::uint64_t cases_under_way() const;
  /// Ends the jobs after their current case, and waits for them. Results that they have not sent are lost.
  void finish();

 private:
  static constexpr int kMostEnds = 3;

  struct Job {
    ForkedProcess process;
    Descriptor to;    ///< commands
    Descriptor from;  ///< messages
    std::string received;
    std::deque<Span> blocks;  ///< handed out and not done, the oldest first
    int ends = 0;             ///< how often it ended since its last message that was right
  };

  void start(std::size_t number);
  [[noreturn]] void run(std::size_t number, int commands, int messages);
  [[nodiscard]] Result<void> receive(std::size_t number, std::vector<JobMessage>& messages);
  [[nodiscard]] bool take(Job& job, JobMessage message, std::vector<JobMessage>& messages);
  [[nodiscard]] Result<void> replace(std::size_t number, const std::string& why, std::vector<JobMessage>& messages);
  void send_command(Job& job, const Span& blocks);

  OpenBackends open_;
  BlockOptions options_;
  std::function<void()> close_files_;
  std::vector<Job> jobs_;
  // In memory that all processes share:
  std::atomic<std::uint64_t>* stop_ = nullptr;   ///< not 0: the jobs are to end
  std::atomic<std::uint64_t>* cases_ = nullptr;  ///< by job: how many cases it has done and not sent
  std::size_t shared_size_ = 0;
};

// Records one run of a campaign, from its start or from --resume on, in the journal, and says how far it is.

class RunLog {
 public:
  /// The store, which is open, outlives it.
  explicit RunLog(JournalStore& store) : store_(store) {}

  /// Resumes the campaign in the store, if it is the same one, or starts it there. True where it resumes.
  [[nodiscard]] Result<bool> begin(const Identity& identity, int jobs, std::vector<std::string>& remarks);

  /// Seconds that this run has taken since begin().
  [[nodiscard]] double seconds() const { return std::max(0.0, seconds_since(start_)); }
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

/// Is called with a backend's position, and a case that it fails.
using TellFailure = std::function<void(std::size_t backend, const BackendInfo&, const Case&, const Verdict&)>;

/// Tells once of each backend that it fails: with the smallest case that is known then and that no waiver covers.
class FailureNews {
 public:
  explicit FailureNews(TellFailure tell) : tell_(std::move(tell)) {}

  /// Leaves out the backends that fail in `sum`: an earlier run told of them.
  void skip(const CampaignAggregate& sum);
  void tell(const CampaignAggregate& sum, const std::vector<BackendInfo>& infos, const CaseAt& case_at);

 private:
  TellFailure tell_;
  std::set<std::size_t> told_;
};

// The campaign as a whole.

struct DriverOptions {
  std::filesystem::path folder;
  JournalStore::Take take = JournalStore::Take::anew;
  int jobs = 1;
  Identity identity;                   ///< without infos
  std::optional<std::uint64_t> cases;  ///< cases of the whole campaign; absent: no end
  std::optional<double> seconds;       ///< seconds of this run; absent: no end
  OpenBackends open;
  BlockOptions block;
  std::function<bool()> interrupted;               ///< polled; true ends the run
  std::function<void(const Progress&)> progress;   ///< called several times a second
  std::function<void(const std::string&)> remark;  ///< a line for the user
  TellFailure news;                                ///< may be empty
  /// Called in a child process when there are new failures, while the campaign runs on: writes the report, and
  /// returns its findings in a few words for progress lines.
  std::function<std::string(const CampaignSnapshot&)> build_report;
};

/// The blocks of a shard: [first, end). Without a number of cases shards are so far apart that they do not meet.
struct BlockRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};
[[nodiscard]] BlockRange blocks_of(const Shard& shard, std::optional<std::uint64_t> cases);

/// Errors: what keeps it from beginning. What ends it later is CampaignSnapshot::fault, and the journal still holds the
/// blocks that were finished before it.
[[nodiscard]] Result<CampaignSnapshot> drive(const DriverOptions& options);

}  // namespace qconform::campaign
