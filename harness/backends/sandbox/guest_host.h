// A worker in an emulated machine, seen from qconform and from the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/sandbox/disk_channel.h"
#include "harness/backends/sandbox/sandbox.h"
#include "harness/backends/sandbox/worker_host.h"
#include "harness/backends/sandbox/worker_process.h"
#include "harness/base/error.h"
#include "harness/base/forked_process.h"
#include "harness/base/pipe.h"

namespace qconform {

/// The emulator's process, and the disk that it shares with this one. It stands still while no answer is due: an idle
/// machine takes as much of this processor as a busy one.
class GuestHost final : public WorkerLink {
 public:
  GuestHost(const GuestCommand& command, const SandboxLimits& limits);

  [[nodiscard]] std::optional<std::span<const std::byte>> receive_hello(Death& death) override;
  [[nodiscard]] bool has_room() override;
  [[nodiscard]] bool send(const Case& test_case, bool closely) override;
  [[nodiscard]] std::optional<std::span<const std::byte>> receive(Death& death) override;
  /// The machine has replaced its worker by then.
  [[nodiscard]] bool is_sound_after(const Outcome& /*outcome*/) const override { return true; }
  [[nodiscard]] const LastWords& last_words() const override { return last_words_; }
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
