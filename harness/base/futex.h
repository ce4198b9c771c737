// Sleeping on a word of memory that processes share.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

namespace qconform {

/// Sleeps until somebody wakes who waits for `word`, or `patience` is over; returns at once where it is not
/// `value`. May return without a reason.
inline void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                        std::chrono::nanoseconds patience) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timespec timeout{seconds.count(), static_cast<long>((patience - seconds).count())};
  (void)syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

/// Safe in a signal handler.
inline void wake_all(const std::atomic<std::uint32_t>& word) {
  (void)syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace qconform
