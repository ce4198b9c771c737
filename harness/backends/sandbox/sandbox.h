// Opens backends in worker processes, where a crash harms nothing else, and tells where a crash was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/sandbox/channel.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"

namespace qconform {

// The place in the code where a signal ended a backend.

/// For a signal's handler: writes where the innermost function lay that belongs to no library of the system, as
/// "libdnnl.so.2: _ZN4dnnl..." with a symbol, "libdnnl.so.2+0x1234" without one, or "generated code"; ends it with a
/// zero. `context`: the handler's. Walks the stack, which may be damaged: what is to survive a second signal is to be
/// written before.
void write_crash_place(const void* context, std::span<char> text);

/// To be called once before: what walking the stack needs is loaded then.
void prepare_crash_places();

/// Returns the place for a reader: symbols as in the source, without parameters.
[[nodiscard]] std::string readable_crash_place(const std::string& place);

// The inside of a worker process.

/// Opens a backend in the process that it will run in.
using OpenBackend = std::function<Result<std::unique_ptr<Backend>>()>;

/// Bytes of a log's end that are kept with an outcome.
inline constexpr std::int64_t kLogShown = 4096;

/// Opens the backend, says hello, and answers requests until somebody kills the process, or until a case writes
/// out of bounds: nothing in this process can be trusted then. `memory_limit`: bytes of address
/// space that the backend may take beside what is there before. stdout and stderr go to the file `log`, which
/// is emptied into the outcome of the case that wrote it.
[[noreturn]] void run_worker(const OpenBackend& open, CaseChannel& channel, int log, std::int64_t memory_limit);

/// Whether a process can run further cases after this outcome.
[[nodiscard]] bool leaves_process_sound(const Outcome& outcome);

/// The end of a log file, which is emptied; nothing costs little.
[[nodiscard]] std::string take_log(int log);

// Backends in worker processes, and their limits.

struct SandboxLimits {
  enum class Guard : std::uint8_t {
    sampled,  ///< one run of a case; a share of them and those that fail are looked at closely
    full,     ///< every case is looked at closely (guarded_run.h)
  };
  double timeout = 10;  ///< seconds for one run of a case; an opening has twelve times as many
  std::int64_t memory = std::int64_t{2048} << 20;  ///< bytes beyond what the loaded backend has
  Guard guard = Guard::sampled;
  std::size_t slot_bytes = slot_bytes_here();  ///< the most bytes of a case, and of its output (channel.h)
};

/// Opens a backend in a worker process forked from this one. When the worker ends, a new one replaces it. A crash, an
/// exit, a hang or an allocation beyond the limit is the outcome of the case that ran, and of no other: the new worker
/// runs the later cases again. Cases run in guarded memory (guarded_run.h); what the backend prints is the outcome's
/// log.
///
/// If a worker was ended from outside, did not answer in time, or wrote over what it shares with this process, the case
/// runs again, alone in a new worker, and that is its outcome; Outcome::lost tells what did not come back. If the
/// backend crashed by itself, the crash stays the outcome, and says so if it did not come back.
///
/// Each worker calls `open`. `name` is for errors. With `records_code` the backend tells which of its code ran, if that
/// is instrumented (Backend::code_coverage()). Errors: what `open` returns, and that the worker ended or hung in it.
/// Cases throw MachineFailure where the system has no more processes, files or memory for a worker.
[[nodiscard]] Result<std::unique_ptr<Backend>> open_in_sandbox(OpenBackend open, std::string name,
                                                               const SandboxLimits& limits, bool records_code = false);

/// Opens a backend that cannot be opened in a fork of this process: `command` starts qconform's own command `worker`
/// (under an emulator, say, or in another program), and gets the shared memory and the log as further arguments. `name`
/// is the backend's name in reports.
[[nodiscard]] Result<std::unique_ptr<Backend>> open_program_in_sandbox(std::vector<std::string> command,
                                                                       std::string name, const SandboxLimits& limits);

/// How qconform's own command `worker` is started in an emulated machine.
struct GuestCommand {
  std::vector<std::string> emulator;  ///< becomes the emulator; gets `--disk FILE` as further arguments, and `program`
  std::vector<std::string> program;   ///< the command that the machine runs
};

/// Opens a backend in an emulated machine, whose `worker` has workers of its own there: what goes wrong in a case is
/// found there. `limits.timeout` is counted in the machine's time.
[[nodiscard]] Result<std::unique_ptr<Backend>> open_guest_in_sandbox(GuestCommand command, std::string name,
                                                                     const SandboxLimits& limits);

}  // namespace qconform
