// The processes that run a campaign's blocks, each with backends of its own: what a library does to its process
// stays there, and memory that it leaks goes with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/forked_process.h"
#include "harness/base/pipe.h"
#include "harness/campaign/block_run.h"
#include "harness/campaign/journal.h"

namespace qconform::campaign {

using OpenBackends = std::function<Result<std::vector<std::unique_ptr<Backend>>>()>;

/// A message of a job.
struct JobMessage {
  enum class Kind : std::uint32_t { opened, failed, done, replaced };
  Kind kind = Kind::done;
  Record record;                   ///< record of a block that is done, or begun: span and aggregate
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
  /// A job that takes another block now: one runs, the next one waits. nullopt where all are supplied.
  [[nodiscard]] std::optional<std::size_t> next_idle() const;
  void submit(std::size_t job, std::uint64_t block, std::uint64_t cases);
  /// Asks the jobs to end their blocks after the current case: those come back as parts, and blocks that had not begun
  /// with no cases.
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

  struct Block {
    std::uint64_t number = 0;
    std::uint64_t cases = 0;
  };
  struct Job {
    ForkedProcess process;
    Descriptor to;    ///< commands
    Descriptor from;  ///< messages
    std::string received;
    std::deque<Block> blocks;  ///< handed out and not done, the oldest first
    int ends = 0;              ///< how often it ended since its last message that was right
  };

  void start(std::size_t number);
  [[noreturn]] void run(std::size_t number, int commands, int messages);
  [[nodiscard]] Result<void> receive(std::size_t number, std::vector<JobMessage>& messages);
  [[nodiscard]] bool take(Job& job, JobMessage message, std::vector<JobMessage>& messages);
  [[nodiscard]] Result<void> replace(std::size_t number, const std::string& why, std::vector<JobMessage>& messages);
  void send_command(Job& job, const Block& block);

  OpenBackends open_;
  BlockOptions options_;
  std::function<void()> close_files_;
  std::vector<Job> jobs_;
  // In memory that all processes share:
  std::atomic<std::uint64_t>* stop_ = nullptr;   ///< not 0: the jobs are to end
  std::atomic<std::uint64_t>* cases_ = nullptr;  ///< by job: how many cases of its block are done
  std::size_t shared_size_ = 0;
};

}  // namespace qconform::campaign
