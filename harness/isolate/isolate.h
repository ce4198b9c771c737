// Backends in worker processes: what they do there, they do to themselves.
#pragma once

#include <cstdint>
#include <memory>

#include "harness/core/backend.h"
#include "harness/core/error.h"
#include "harness/isolate/worker_process.h"

namespace qconform {

struct Isolation {
  double timeout = 10;                             ///< seconds for one case
  std::int64_t memory = std::int64_t{2048} << 20;  ///< bytes beyond what the loaded backend has
};

/// A backend that lives in a process forked from this one, which is replaced when it ends. A crash, an
/// exit, a hang or an allocation beyond the limit is the outcome of the case that was under way, and of
/// no other. Cases run in guarded memory (guarded_run.h); what the backend prints is the outcome's log.
///
/// `open` is called in the worker, again in each one that replaces it. Errors: what it returns, and that
/// the worker ended or hung in it.
[[nodiscard]] Result<std::unique_ptr<Backend>> isolate(OpenBackend open, const Isolation& isolation);

}  // namespace qconform
