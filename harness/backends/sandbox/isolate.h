// Backends in worker processes: what they do there, they do to themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/sandbox/worker_process.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"

namespace qconform {

struct Isolation {
  enum class Guard : std::uint8_t {
    sampled,  ///< one run of a case; a share of them and those that fail are looked at closely
    full,     ///< every case is looked at closely (guarded_run.h)
  };
  double timeout = 10;                             ///< seconds for one run of a case
  std::int64_t memory = std::int64_t{2048} << 20;  ///< bytes beyond what the loaded backend has
  Guard guard = Guard::sampled;
  std::size_t slot_bytes = slot_bytes_here();  ///< of the largest case, and of the largest output (case_channel.h)
};

/// A backend that lives in a process forked from this one, which is replaced when it ends. A crash, an
/// exit, a hang or an allocation beyond the limit is the outcome of the case that was under way, and of
/// no other: those behind it are run again. Cases run in guarded memory (guarded_run.h); what the backend
/// prints is the outcome's log.
///
/// `open` is called in the worker, again in each one that replaces it. Errors: what it returns, and that
/// the worker ended or hung in it.
[[nodiscard]] Result<std::unique_ptr<Backend>> isolate(OpenBackend open, const Isolation& isolation);

/// The same for a backend that cannot be opened in a fork of this process: `command` starts qconform's own
/// command `worker` (under an emulator, say), and gets the shared memory and the log as further arguments.
/// `name` is what the backend is called here.
[[nodiscard]] Result<std::unique_ptr<Backend>> isolate_program(std::vector<std::string> command, std::string name,
                                                               const Isolation& isolation);

}  // namespace qconform
