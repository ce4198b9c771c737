// One backend with one case, in a process of its own, that runs when it is told to.
//
// A process each, because some libraries fix their instruction set or their threads for the life of a
// process, and because a crash is then one table entry and not the end of the run. The clock is read in
// that process, around the run alone: no request, copy or switch of processes is part of a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/sandbox/worker_process.h"
#include "harness/base/forked_process.h"
#include "harness/bench/worker_channel.h"
#include "harness/core/backend.h"
#include "harness/core/error.h"

namespace qconform::bench {

/// The runs of one turn, in seconds each.
struct Turn {
  std::uint64_t runs = 0;
  double minimum = 0;
  double median = 0;
};

/// Where participants run.
struct Place {
  RunSetting wanted;
  std::vector<int> cpus;  ///< that the process is pinned to; empty: not pinned
  double patience = 120;  ///< seconds that a turn, or getting ready, may take
};

class Participant {
 public:
  /// Forks; in the child opens the backend, prepares the case and runs it once. `test_case` must outlive
  /// it. Errors: no process, or no backend. A backend that does not get through the case is no error.
  [[nodiscard]] static Result<std::unique_ptr<Participant>> start(const OpenBackend& open, const Case& test_case,
                                                                  const Place& place);
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

  [[nodiscard]] const BackendInfo& info() const { return info_; }
  /// The setting in use, which may lack what was asked for.
  [[nodiscard]] const RunSetting& setting() const { return setting_; }
  /// Whether it can take turns: the case was prepared and run.
  [[nodiscard]] bool ready() const { return ready_; }

  /// One run that warms caches, then timed ones for about `seconds`, at least one. nullopt where the
  /// process ended instead; it is not ready any more then.
  [[nodiscard]] std::optional<Turn> take_turn(double seconds);
  /// What the last run came to, or how the process ended.
  [[nodiscard]] Outcome outcome();

 private:
  Participant() = default;
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
  std::optional<Outcome> ending_;  ///< of the process, or of what never ran
};

}  // namespace qconform::bench
