// Independent work divided among threads, and working memory that outlives a run, because fresh pages cost more time
// than small layers take.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace qconform::reference {

// Memory that begins at a cache line.

/// Uninitialized bytes, aligned to 64.
class AlignedMemory {
 public:
  AlignedMemory() = default;
  explicit AlignedMemory(std::size_t size)
      : size_(size), bytes_(static_cast<std::byte*>(::operator new(size, kAlignment))) {}

  [[nodiscard]] std::byte* data() { return bytes_.get(); }
  [[nodiscard]] const std::byte* data() const { return bytes_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, kAlignment); }
  };
  std::size_t size_ = 0;
  std::unique_ptr<std::byte, Free> bytes_;
};

// Threads, and memory that they borrow.

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

/// Objects that are lent out, one to each borrower at a time. Thread-safe.
template <typename T>
class Pool {
 public:
  struct GiveBack {
    Pool* pool;
    void operator()(T* object) const { pool->give_back(std::unique_ptr<T>(object)); }
  };
  using Lent = std::unique_ptr<T, GiveBack>;

  /// One that is free, else what make() returns, a std::unique_ptr<T>. The pool must outlive it.
  template <typename Make>
  [[nodiscard]] Lent borrow(Make make) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Lent lent(free_.back().release(), GiveBack{this});
        free_.pop_back();
        return lent;
      }
    }
    return Lent(make().release(), GiveBack{this});
  }

 private:
  void give_back(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(object));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace qconform::reference
