// Memory for a tensor's bytes, and a fingerprint of bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>

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
    memory_ = AlignedBytes(bytes + alignment);
    return placed(bytes, alignment);
  }
  /// Takes what the last take_again() took, with its content, if that was as large.
  [[nodiscard]] std::span<std::byte> take_again(std::size_t bytes, std::size_t alignment) {
    if (memory_.bytes().size() != bytes + alignment) return take(bytes, alignment);
    return placed(bytes, alignment);
  }

 private:
  [[nodiscard]] std::span<std::byte> placed(std::size_t bytes, std::size_t alignment) {
    std::size_t room = memory_.bytes().size();
    void* start = memory_.bytes().data();
    return {static_cast<std::byte*>(std::align(alignment, bytes, start, room)), bytes};
  }
  AlignedBytes memory_;
};

// A 64-bit fingerprint that is the same on every machine and compiler. Not for secrets.

/// Takes data eight bytes at a time: the state is combined with each little-endian word, multiplied
/// by an odd constant and folded, each step a bijection of the state.
class Digest {
 public:
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9E3779B97F4A7C15U;
    state_ ^= state_ >> 32;
  }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  /// The last word is filled up with zeros: add the length too where it is not known from elsewhere.
  void add(std::span<const std::byte> bytes) {
    for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
      add(word_of(bytes.first(sizeof(std::uint64_t))));
    }
    if (!bytes.empty()) add(word_of(bytes));
  }
  /// Adds a text with its length, so that consecutive strings cannot be confused.
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    add(std::as_bytes(std::span(text.data(), text.size())));
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  static std::uint64_t word_of(std::span<const std::byte> bytes) {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    return word;
  }

  std::uint64_t state_ = 0xCBF29CE484222325U;
};

}  // namespace qconform
