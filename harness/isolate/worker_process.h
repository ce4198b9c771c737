// The inside of a worker process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "harness/core/backend.h"
#include "harness/core/error.h"
#include "harness/isolate/worker_channel.h"

namespace qconform {

/// Opens a backend in the process that it will run in.
using OpenBackend = std::function<Result<std::unique_ptr<Backend>>()>;

/// Opens the backend, says hello, and answers requests until the process is killed. `memory_limit`: bytes
/// of address space that the backend may take beside what is there before. stdout and stderr go to the
/// file `log`.
[[noreturn]] void run_worker(const OpenBackend& open, WorkerChannel& channel, int log, std::int64_t memory_limit);

}  // namespace qconform
