// Working memory that outlives a run, because fresh pages cost more time than small layers take.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace qconform::reference {

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
