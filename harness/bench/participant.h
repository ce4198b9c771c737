// One backend with one case, in a process of its own, that runs when it is told to.
//
// A process each, because some libraries fix their instruction set or their threads for the life of a
// process, and because a crash is then one table entry and not the end of the run. The clock is read in
// that process, around the run alone: no request, copy or switch of processes is part of a time.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/sandbox/sandbox.h"
#include "harness/base/error.h"
#include "harness/base/process.h"
#include "harness/core/backend.h"

namespace qconform::bench {

// Chooses the processors that a process runs on, and pins it to them.

/// `threads` processors of those that this process may use, the last ones: the first serve more interrupts.
/// Errors: fewer than that.
[[nodiscard]] Result<std::vector<int>> choose_cpus(int threads);

/// Pins the calling process to `cpus`, which choose_cpus() gave; empty: leaves it as it is.
void pin(const std::vector<int>& cpus);

/// A block that grows and never moves, shared with the processes forked after it was made, and with programs that
/// inherit its file.
class SharedBlock {
 public:
  static constexpr std::size_t kLargest = std::size_t{8} << 30;  ///< addresses only; memory comes when used

  SharedBlock();
  /// The block of an inherited file.
  explicit SharedBlock(int file);
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;
  ~SharedBlock();

  /// The first `bytes` bytes, for writing; empty where they cannot be had.
  [[nodiscard]] std::span<std::byte> reserve(std::size_t bytes);
  /// The first `bytes` bytes, which another process reserved and wrote; empty where it reserved fewer.
  [[nodiscard]] std::span<const std::byte> view(std::size_t bytes) const;
  /// From now on this process writes to it no more: a stray write faults.
  void make_read_only();
  [[nodiscard]] int file() const { return file_; }

 private:
  int file_;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

/// One request and one answer at a time.
struct Doorbells {
  std::atomic<std::uint32_t> requests = 0;
  std::atomic<std::uint32_t> answers = 0;
  std::atomic<std::uint64_t> request_bytes = 0;
  std::atomic<std::uint64_t> answer_bytes = 0;
};

/// Counts `bell` up and wakes who waits for it.
void ring(std::atomic<std::uint32_t>& bell);
/// Waits until `bell` is no longer `seen`; false when that took longer than `patience`. Sleeps at once: with
/// fewer idle processors than workers, spinning takes the time that the other side needs.
[[nodiscard]] bool wait_for_ring(const std::atomic<std::uint32_t>& bell, std::uint32_t seen,
                                 std::chrono::nanoseconds patience);

struct WorkerChannel {
  using Files = std::array<int, 3>;

  WorkerChannel();
  /// The channel of a process whose program inherited these.
  explicit WorkerChannel(const Files& files);
  [[nodiscard]] Files files() const { return {request.file(), answer.file(), shared_bells.file()}; }

  SharedBlock request;
  SharedBlock answer;
  SharedBlock shared_bells;
  Doorbells* bells;  ///< in that block
};

/// The runs of one turn, in seconds each.
struct Turn {
  std::uint64_t runs = 0;
  double minimum = 0;
  double median = 0;
};

/// Conditions under which participants run.
struct RunConditions {
  RunSetting wanted;
  std::vector<int> cpus;  ///< CPUs that the process is pinned to; empty: not pinned
  double patience = 120;  ///< seconds that a turn, or getting ready, may take
};

/// Serves the other end of the channel from a program of its own until the process is killed: Participant::start wrote
/// the setting and the case there.
[[noreturn]] void serve_participant(const OpenBackend& open, WorkerChannel& channel);

class Participant {
 public:
  /// Forks; in the child opens the backend, prepares the case and runs it once. `test_case` must outlive
  /// it. Errors: no process, or no backend. A backend that does not get through the case is no error.
  [[nodiscard]] static Result<std::unique_ptr<Participant>> start(const OpenBackend& open, const Case& test_case,
                                                                  const RunConditions& conditions);
  /// Forks; the child becomes a program that calls serve_participant() on the option --bench, which this adds to
  /// `command` with the numbers of the channel's files. Errors: no process, or no backend, or a case that does not fit.
  [[nodiscard]] static Result<std::unique_ptr<Participant>> start(const std::vector<std::string>& command,
                                                                  const Case& test_case,
                                                                  const RunConditions& conditions);
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

  [[nodiscard]] const BackendInfo& info() const { return info_; }
  /// The setting in use, which may lack what was asked for.
  [[nodiscard]] const RunSetting& setting() const { return setting_; }
  /// RepeatedRun::implementation().
  [[nodiscard]] const std::string& implementation() const { return implementation_; }
  /// Whether it can take turns: the case was prepared and run.
  [[nodiscard]] bool ready() const { return ready_; }

  /// One run that warms caches, then timed ones for about `seconds`, at least one. nullopt where the
  /// process ended instead; it is not ready any more then.
  [[nodiscard]] std::optional<Turn> take_turn(double seconds);
  /// Returns the outcome of the last run, or how the process ended.
  [[nodiscard]] Outcome outcome();

 private:
  Participant() = default;
  Result<void> begin(const std::function<void()>& work, const RunConditions& conditions);
  [[nodiscard]] std::optional<std::span<const std::byte>> receive();
  [[nodiscard]] std::optional<std::span<const std::byte>> ask(double request);
  Result<void> hear_start();

  WorkerChannel channel_;
  ForkedProcess process_;
  std::uint32_t answers_ = 0;
  double patience_ = 0;
  bool ready_ = false;
  BackendInfo info_;
  RunSetting setting_;
  std::string implementation_;
  std::optional<Outcome> ending_;  ///< set when the process has ended, or gave no answer in time
};

}  // namespace qconform::bench
