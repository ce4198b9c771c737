// Memory that two processes share for one request and one answer at a time, and the doorbells in it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace qconform::bench {

/// A block that grows and never moves, shared with the processes forked after it was made.
class SharedBlock {
 public:
  static constexpr std::size_t kLargest = std::size_t{8} << 30;  ///< addresses only; memory comes when used

  SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;
  ~SharedBlock();

  /// The first `bytes` bytes, for writing; empty where they cannot be had.
  [[nodiscard]] std::span<std::byte> reserve(std::size_t bytes);
  /// What another process reserved and wrote: empty where there are fewer bytes.
  [[nodiscard]] std::span<const std::byte> view(std::size_t bytes) const;
  /// From now on this process writes to it no more: a stray write faults.
  void make_read_only();

 private:
  int file_ = -1;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

/// One request and one answer at a time.
struct Doorbells {
  std::atomic<std::uint32_t> requests = 0;
  std::atomic<std::uint32_t> answers = 0;
  std::atomic<std::uint64_t> request_bytes = 0;
  std::atomic<std::uint64_t> answer_bytes = 0;
};

/// Counts `bell` up and wakes who waits for it.
void ring(std::atomic<std::uint32_t>& bell);
/// Waits until `bell` is no longer `seen`; false when that took longer than `patience`. Sleeps at once: with
/// fewer idle processors than workers, spinning takes the time that the other side needs.
[[nodiscard]] bool wait_for_ring(const std::atomic<std::uint32_t>& bell, std::uint32_t seen,
                                 std::chrono::nanoseconds patience);

struct WorkerChannel {
  WorkerChannel();
  WorkerChannel(const WorkerChannel&) = delete;
  WorkerChannel& operator=(const WorkerChannel&) = delete;
  ~WorkerChannel();

  SharedBlock request;
  SharedBlock answer;
  Doorbells* bells;  ///< in shared memory
};

}  // namespace qconform::bench
