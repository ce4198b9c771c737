// A worker process, seen from qconform.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/sandbox/sandbox.h"
#include "harness/base/forked_process.h"
#include "harness/core/case.h"

namespace qconform {

/// Bytes of a process: its address space, and what it holds in memory by itself.
struct MemoryInUse {
  std::int64_t address_space = 0;
  std::int64_t resident = 0;
};

/// How a worker ended.
struct Death {
  int status = 0;  ///< as waitpid gives it
  bool timed_out = false;
  bool out_of_memory = false;
};

/// One process with its channel and its log; killed with it.
class WorkerHost {
 public:
  /// A fork of this process.
  WorkerHost(const OpenBackend& open, const SandboxLimits& limits);
  /// A program, to which `--channel FD --log FD` is added.
  WorkerHost(const std::vector<std::string>& command, const SandboxLimits& limits);
  WorkerHost(const WorkerHost&) = delete;
  WorkerHost& operator=(const WorkerHost&) = delete;
  ~WorkerHost();

  [[nodiscard]] bool started() const { return process_.is_running(); }

  /// The hello's bytes; nothing where the process ended first, with `death` telling how. What it takes then is
  /// not held against it later.
  [[nodiscard]] std::optional<std::span<const std::byte>> receive_hello(double seconds, Death& death);

  /// Whether another request can be sent before an answer is received.
  [[nodiscard]] bool has_room() const { return sent_ - received_ < CaseChannel::kSlots; }
  /// False where the case is larger than what can be sent.
  [[nodiscard]] bool send(const Case& test_case, bool closely);
  /// The oldest answer's bytes, valid until the next send; nothing where the process ended, or was killed for it.
  [[nodiscard]] std::optional<std::span<const std::byte>> receive(Death& death);

  [[nodiscard]] const LastWords& last_words() const { return channel_.last_words(); }
  /// The end of what a dead process printed in its last case.
  [[nodiscard]] std::string last_log() const { return take_log(log_); }

 private:
  using Clock = std::chrono::steady_clock;

  explicit WorkerHost(const SandboxLimits& limits);
  [[noreturn]] void become(std::vector<std::string> command);
  [[nodiscard]] bool has_ended(Death& death);
  [[nodiscard]] bool is_overdue(Clock::time_point waiting_since) const;

  SandboxLimits limits_;
  CaseChannel channel_;
  int log_ = -1;
  ForkedProcess process_;
  std::uint32_t sent_ = 0;
  std::uint32_t received_ = 0;
  MemoryInUse at_rest_;
};

}  // namespace qconform
