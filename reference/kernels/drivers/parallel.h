// Divides independent work among threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace qconform::reference {

/// Calls work(state, item) once for each item in [0, items), on at most `threads` threads, of which
/// the caller is one; `threads` below 1 counts as 1. Every thread makes its own state. The order is
/// open: work must not depend on it, and must not throw when there are several threads.
template <typename MakeState, typename Work>
void parallel(std::int64_t items, int threads, MakeState make_state, Work work) {
  std::atomic<std::int64_t> next{0};
  const auto run = [&] {
    std::int64_t item = next.fetch_add(1);
    if (item >= items) return;
    auto state = make_state();
    for (; item < items; item = next.fetch_add(1)) work(state, item);
  };
  const std::int64_t helpers = std::min<std::int64_t>(threads, items) - 1;
  std::vector<std::jthread> pool;
  for (std::int64_t i = 0; i < helpers; ++i) pool.emplace_back(run);
  run();
}

}  // namespace qconform::reference
