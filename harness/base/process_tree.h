// Processes by their descent.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

namespace qconform {

/// Returns all processes below `process`, without itself: its children and theirs in turn, zombies too. Processes whose
/// parent has ended belong to the nearest ancestor that is a subreaper (prctl).
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t process);

/// Bytes that `process` holds in memory by itself: neither files nor memory that it shares. 0 where it is gone.
[[nodiscard]] std::int64_t resident_of(pid_t process);

/// Bytes of anonymous memory of all processes below `process`. Each page counts in proportion to how many processes
/// share it: a fork takes no memory until it writes.
[[nodiscard]] std::int64_t resident_below(pid_t process);

/// Bytes of files that lie in memory alone (memfd_create) and that `process` has open, without those that `process` was
/// given: `known` are descriptors of this process.
[[nodiscard]] std::int64_t memory_files_of(pid_t process, std::span<const int> known);

/// Kills all that this process has started, and what that has started, until there is nothing left: this process is a
/// subreaper.
void kill_descendants();

/// Closes the descriptors of this process above stderr, but for `kept`.
void close_all_but(std::span<const int> kept);

}  // namespace qconform
