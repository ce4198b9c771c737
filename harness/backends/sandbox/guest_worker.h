// The inside of an emulated machine: the other end of GuestHost's line.
#pragma once

#include <string>

#include "harness/backends/sandbox/sandbox.h"
#include "harness/backends/sandbox/worker_process.h"
#include "harness/base/error.h"

namespace qconform {

/// Opens the backend in workers of this machine, says hello on `disk`, and answers requests until the disk makes no
/// sense or somebody turns the machine off. Errors: there is no such disk.
[[nodiscard]] Result<void> run_guest(const OpenBackend& open, const std::string& disk, const SandboxLimits& limits);

}  // namespace qconform
