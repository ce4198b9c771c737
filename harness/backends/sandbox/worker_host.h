// The interface to a worker, wherever it runs: a process of this machine, or one of an emulated machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/sandbox/channel.h"
#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/backends/sandbox/sandbox.h"
#include "harness/base/error.h"
#include "harness/base/process.h"
#include "harness/core/case.h"
#include "harness/core/verdict.h"

namespace qconform {

/// How a worker ended.
struct Death {
  int status = 0;  ///< as waitpid gives it
  bool timed_out = false;
  bool had_no_chance = false;  ///< timed out, and wanted the processor most of the time without getting it
  bool out_of_memory = false;
  bool damaged = false;     ///< ended because the memory that it shares with qconform makes no sense
  std::string reason = {};  ///< the reason in words, where the status does not say it
};

/// A worker that has been started; it ends with this, and all that it has started.
class WorkerLink {
 public:
  WorkerLink() = default;
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;
  virtual ~WorkerLink() = default;

  /// The hello's bytes; nothing where the worker ended first, with `death` telling how.
  [[nodiscard]] virtual std::optional<std::span<const std::byte>> receive_hello(Death& death) = 0;
  /// Whether another request can be sent before an answer is received.
  [[nodiscard]] virtual bool has_room() = 0;
  /// False where the case is larger than what can be sent.
  [[nodiscard]] virtual bool send(const Case& test_case, RunMode mode) = 0;
  /// The oldest answer's bytes, valid until the next send; nothing where the worker ended, or was killed for it.
  [[nodiscard]] virtual std::optional<std::span<const std::byte>> receive(Death& death) = 0;
  /// Whether it can run further cases after this outcome of one.
  [[nodiscard]] virtual bool is_sound_after(const Outcome& outcome) const = 0;
  [[nodiscard]] virtual const LastWords& last_words() const = 0;
  /// Whether another one starts within milliseconds.
  [[nodiscard]] virtual bool starts_fast() const { return true; }
  /// Bytes that it holds in memory beyond what it held when it was opened; 0 where that is not known.
  [[nodiscard]] virtual std::int64_t memory_held() const { return 0; }
  /// The end of what a dead worker printed in its last case.
  [[nodiscard]] virtual std::string last_log() const = 0;
};

// A worker process, seen from qconform.

/// Bytes of a process: its address space, and what it and its descendants hold in memory by themselves, in files that
/// lie in memory too.
struct MemoryInUse {
  std::int64_t address_space = 0;
  std::int64_t resident = 0;
};

/// An opening may take so many times as long as a case.
inline constexpr double kOpenTimes = 12;

/// One process with its channel and its log; killed with it.
class WorkerHost final : public WorkerLink {
 public:
  /// A process of one of these servers. Throws MachineFailure where the system has no more processes, files or memory.
  WorkerHost(ForkServer& server, const SandboxLimits& limits);
  ~WorkerHost() override;

  // Servers of workers; what they are given is copied when the first worker starts.

  /// Each worker opens the backend, and keeps of this process's files the channel and the log alone.
  [[nodiscard]] static ForkServer server_of(OpenBackend open, const SandboxLimits& limits);
  /// Each worker becomes a program, to which `--channel FD --log FD` is added.
  [[nodiscard]] static ForkServer server_of(std::vector<std::string> command);

  /// Measures too the memory that the process takes until the hello: that is not held against it later.
  [[nodiscard]] std::optional<std::span<const std::byte>> receive_hello(Death& death) override;
  [[nodiscard]] bool has_room() override { return sent_ - received_ < CaseChannel::kSlots; }
  [[nodiscard]] bool send(const Case& test_case, RunMode mode) override;
  [[nodiscard]] std::optional<std::span<const std::byte>> receive(Death& death) override;
  [[nodiscard]] bool is_sound_after(const Outcome& outcome) const override { return leaves_process_sound(outcome); }
  [[nodiscard]] const LastWords& last_words() const override { return channel_.last_words(); }
  [[nodiscard]] std::string last_log() const override { return take_log(log_); }
  [[nodiscard]] std::int64_t memory_held() const override { return memory().resident - at_rest_.resident; }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] MemoryInUse memory() const;
  [[nodiscard]] bool is_beyond_limits(Clock::time_point waiting_since, Death& death);
  [[nodiscard]] bool has_ended(Death& death);
  [[nodiscard]] std::optional<std::span<const std::byte>> last_answer();
  [[nodiscard]] bool is_overdue(Clock::time_point waiting_since) const;
  void note_activity();
  [[nodiscard]] bool had_no_chance() const;

  SandboxLimits limits_;
  CaseChannel channel_;
  int log_ = -1;
  ForkedProcess process_;
  std::optional<int> end_;  ///< the status with which it ended by itself, once that was seen
  std::uint32_t sent_ = 0;
  std::uint32_t received_ = 0;
  MemoryInUse at_rest_;
  Clock::time_point next_look_;  ///< when its memory is looked at next
  Clock::time_point noted_;      ///< the beginning of the run at which its activity was noted last
  double cpu_seconds_ = 0;       ///< processor time that it had taken then
};

// A worker in an emulated machine, seen from qconform and from the machine.

/// The emulator's process, and the disk that it shares with this one. It stands still while no answer is due: an idle
/// machine takes as much of this processor as a busy one.
class GuestHost final : public WorkerLink {
 public:
  GuestHost(const GuestCommand& command, const SandboxLimits& limits);

  [[nodiscard]] std::optional<std::span<const std::byte>> receive_hello(Death& death) override;
  [[nodiscard]] bool has_room() override;
  [[nodiscard]] bool send(const Case& test_case, RunMode mode) override;
  [[nodiscard]] std::optional<std::span<const std::byte>> receive(Death& death) override;
  /// The machine has replaced its worker by then.
  [[nodiscard]] bool is_sound_after(const Outcome& /*outcome*/) const override { return true; }
  [[nodiscard]] const LastWords& last_words() const override { return last_words_; }
  [[nodiscard]] bool starts_fast() const override { return false; }
  [[nodiscard]] std::string last_log() const override;

 private:
  [[noreturn]] void become(const GuestCommand& command) const;
  /// `cpu_seconds`: what the emulator may take of this processor until the answer comes.
  [[nodiscard]] std::optional<std::span<const std::byte>> next(double cpu_seconds, Death& death);
  void pause_if_idle();
  void resume();

  SandboxLimits limits_;
  Descriptor disk_;
  Descriptor log_;
  DiskChannel line_;
  ForkedProcess process_;
  std::vector<std::byte> request_;
  std::uint32_t sent_ = 0;
  std::uint32_t received_ = 0;
  bool paused_ = false;
  LastWords last_words_;  ///< none: the machine's own answers have them
};

// The inside of an emulated machine: the other end of GuestHost's line.

/// Opens the backend in workers of this machine, says hello on `disk`, and answers requests until the disk makes no
/// sense or somebody turns the machine off. Errors: there is no such disk.
[[nodiscard]] Result<void> run_guest(const OpenBackend& open, const std::string& disk, const SandboxLimits& limits);

}  // namespace qconform
