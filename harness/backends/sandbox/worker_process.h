// The inside of a worker process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "harness/backends/sandbox/case_channel.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"

namespace qconform {

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

}  // namespace qconform
