// FNV-1a, 64 bits: a fingerprint that is the same on every machine. Not for secrets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace qconform {

class Digest {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) state_ = (state_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001B3U;
  }
  void add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) state_ = (state_ ^ (value >> shift & 0xFFU)) * 0x100000001B3U;
  }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  /// With its length, so that consecutive strings cannot be confused.
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    add(std::as_bytes(std::span(text.data(), text.size())));
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325U;
};

}  // namespace qconform
