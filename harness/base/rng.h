// Random numbers are the same on every machine and compiler, and cheap to start anew for each case, so that case i of a
// seed needs none of the cases before it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace qconform {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  /// An independent stream for item `index` of `seed`.
  Rng(std::uint64_t seed, std::uint64_t index) : state_(mix(seed ^ mix(index + 0x632BE59BD9B4E019U))) {}

  std::uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15U); }

  /// Uniform in [0, bound), bound > 0. By multiplication: the bias is below bound / 2^32.
  std::uint64_t below(std::uint32_t bound) { return (next() >> 32) * bound >> 32; }

  /// Uniform in [lo, hi], both included; hi - lo < 2^32 - 1.
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(below(static_cast<std::uint32_t>(hi - lo + 1)));
  }

  /// True in `numerator` of `denominator` draws.
  bool chance(std::uint32_t numerator, std::uint32_t denominator) { return below(denominator) < numerator; }

  /// One of the values.
  template <typename T, std::size_t N>
  T pick(const T (&values)[N]) {
    return values[below(static_cast<std::uint32_t>(N))];
  }

  /// Independent uniform bytes: the low byte of each word first.
  void fill(std::span<std::byte> bytes) {
    fill(bytes, [](Rng& rng) { return rng.next(); });
  }

  /// The bytes of the words that `draw` makes of this generator, the low byte of each word first.
  template <typename Draw>
  void fill(std::span<std::byte> bytes, Draw draw) {
    static_assert(std::endian::native == std::endian::little);
    Rng rng = *this;  // its state in a register: bytes might be this object's
    for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
      const std::uint64_t word = draw(rng);
      std::memcpy(bytes.data(), &word, sizeof word);
    }
    if (!bytes.empty()) {
      const std::uint64_t word = draw(rng);
      std::memcpy(bytes.data(), &word, bytes.size());
    }
    *this = rng;
  }

  /// Into any order, by Fisher and Yates.
  template <typename Items>
  void shuffle(Items& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace qconform
