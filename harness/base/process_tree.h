// Processes and what they have started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace qconform::backend {

/// What `process` has started, and what that has started, without itself.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t process);

/// Bytes that the processes below `process` hold in memory by themselves.
[[nodiscard]] std::int64_t resident_below(pid_t process);

}  // namespace qconform::backend
