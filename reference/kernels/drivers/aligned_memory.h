// Memory that begins at a cache line.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace qconform::reference {

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

}  // namespace qconform::reference
