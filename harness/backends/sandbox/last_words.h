// What a dying worker reports in shared memory about the case that killed it.
#pragma once

#include <atomic>
#include <cstdint>

namespace qconform {

/// What the signal handler of a worker writes before the worker dies.
struct LastWords {
  std::atomic<int> signal = 0;
  std::atomic<bool> of_neighbour = false;   ///< a node with other values than the case's was running
  std::atomic<bool> out_of_memory = false;  ///< an allocation failed, or little was left to allocate
  std::atomic<int> slot = kNoSlot;          ///< guarded memory that was left: an input's position, or one of these
  std::atomic<std::int64_t> offset = 0;     ///< bytes from the nearest end
  std::atomic<bool> before = false;
  std::atomic<bool> wrote = false;
  std::atomic<std::uintptr_t> address = 0;

  static constexpr int kNoSlot = -1;
  static constexpr int kScratch = -2;
  static constexpr int kOutput = -3;  ///< the first; output i is i less
};

}  // namespace qconform
