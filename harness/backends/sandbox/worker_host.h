// A worker process, seen from qconform.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/sandbox/sandbox.h"
#include "harness/backends/sandbox/worker_link.h"
#include "harness/base/forked_process.h"
#include "harness/core/case.h"

namespace qconform {

/// Bytes of a process: its address space, and what it holds in memory by itself.
struct MemoryInUse {
  std::int64_t address_space = 0;
  std::int64_t resident = 0;
};

/// One process with its channel and its log; killed with it.
class WorkerHost final : public WorkerLink {
 public:
  /// A fork of this process.
  WorkerHost(const OpenBackend& open, const SandboxLimits& limits);
  /// A program, to which `--channel FD --log FD` is added.
  WorkerHost(const std::vector<std::string>& command, const SandboxLimits& limits);
  ~WorkerHost() override;

  [[nodiscard]] bool started() const override { return process_.is_running(); }
  /// What the process takes then is not held against it later.
  [[nodiscard]] std::optional<std::span<const std::byte>> receive_hello(Death& death) override;
  [[nodiscard]] bool has_room() override { return sent_ - received_ < CaseChannel::kSlots; }
  [[nodiscard]] bool send(const Case& test_case, bool closely) override;
  [[nodiscard]] std::optional<std::span<const std::byte>> receive(Death& death) override;
  [[nodiscard]] bool is_sound_after(const Outcome& outcome) const override { return leaves_process_sound(outcome); }
  [[nodiscard]] const LastWords& last_words() const override { return channel_.last_words(); }
  [[nodiscard]] std::string last_log() const override { return take_log(log_); }

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
