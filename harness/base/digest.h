// A 64-bit fingerprint that is the same on every machine and compiler. Not for secrets.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace qconform {

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
