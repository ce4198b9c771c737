// The processes that run a campaign's blocks, each with backends of its own: what a library does to its process
// stays there, and memory that it leaks goes with it.
#pragma once

#include <atomic>
#include <cstdint>
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
  enum class Kind : std::uint32_t { opened, failed, done };
  Kind kind = Kind::done;
  Record record;                   ///< of a block that is done, or begun: span and aggregate
  std::vector<BackendInfo> infos;  ///< of a job that opened its backends
  std::string error;
};

class Jobs {
 public:
  /// Forks the processes; they open their backends at once. `close_files` is called in each of them first.
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
  /// Waits for messages and returns them. Errors: a job died.
  [[nodiscard]] Result<std::vector<JobMessage>> wait(double seconds);
  /// Cases done in unfinished blocks, for progress.
  [[nodiscard]] std::uint64_t cases_under_way() const;
  /// Ends the jobs after their current case, and waits for them. Results that they have not sent are lost.
  void finish();

 private:
  struct Job {
    ForkedProcess process;
    Descriptor to;    ///< commands
    Descriptor from;  ///< messages
    std::string received;
    std::vector<std::uint64_t> blocks;  ///< handed out and not done, the oldest first
  };

  [[noreturn]] void run(std::size_t number, int commands, int messages, const OpenBackends& open, BlockOptions options);
  [[nodiscard]] Result<void> receive(std::size_t number, std::vector<JobMessage>& messages);
  [[nodiscard]] Error death_of(std::size_t number);

  std::vector<Job> jobs_;
  // In memory that all processes share:
  std::atomic<std::uint64_t>* stop_ = nullptr;   ///< not 0: end
  std::atomic<std::uint64_t>* cases_ = nullptr;  ///< of the block that runs, one for each job
  std::size_t shared_size_ = 0;
};

}  // namespace qconform::campaign
