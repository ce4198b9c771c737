// Memory for a tensor as frameworks allocate it: at the start of a cache line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace qconform {

class AlignedBytes {
 public:
  static constexpr std::size_t kAlignment = 64;

  /// `size` zero bytes, and as many readable ones behind them as vector loads may overrun.
  explicit AlignedBytes(std::size_t size = 0)
      : size_(size),
        memory_(static_cast<std::byte*>(::operator new (size + kAlignment, std::align_val_t{kAlignment}))) {
    std::fill_n(memory_.get(), size + kAlignment, std::byte{0});
  }
  explicit AlignedBytes(std::span<const std::byte> content) : AlignedBytes(content.size()) {
    std::copy(content.begin(), content.end(), memory_.get());
  }

  [[nodiscard]] std::span<std::byte> bytes() { return {memory_.get(), size_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> memory_;
};

/// Memory for a while, of any content: what was taken is gone with the next take().
class ScratchMemory {
 public:
  /// `alignment` is a power of two.
  [[nodiscard]] std::span<std::byte> take(std::size_t bytes, std::size_t alignment) {
    std::size_t room = bytes + alignment;
    void* start = (memory_ = AlignedBytes(room)).bytes().data();
    return {static_cast<std::byte*>(std::align(alignment, bytes, start, room)), bytes};
  }

 private:
  AlignedBytes memory_;
};

}  // namespace qconform
