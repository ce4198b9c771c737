// Memory between guard pages, and the inputs of a case in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/verdict.h"

namespace qconform {

using Side = outcome::WroteOutOfBounds::Side;

/// The place of a stray access: bytes from the nearest end of the tensor; 1 is the nearest.
struct Stray {
  Side side = Side::after;
  std::int64_t offset = 0;
};

/// Room for one tensor at a time between two guards, which fault on access. The tensor lies against one of them, with
/// canaries on its other side. The mapping is kept, so that placing costs no system call until a larger tensor comes.
class GuardedMemory {
 public:
  enum class Against : std::uint8_t { end, start };
  static constexpr std::size_t kLargestCanary = 512;

  /// `canary`: bytes on the side without a guard; up to kLargestCanary.
  explicit GuardedMemory(std::size_t canary) : canary_(canary) {}
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory();

  /// Memory for `size` bytes of any content, aligned to their element and, against the
  /// end, to no more. `room`: canaries between it and the end, which may be read; up to the number of canaries.
  /// Throws bad_alloc where the system has none.
  [[nodiscard]] std::span<std::byte> place(std::size_t size, Against against, std::size_t room = 0);

  /// Forgets the tensor.
  void forget() { data_ = nullptr; }

  /// The nearest canary that was overwritten, if one was.
  [[nodiscard]] std::optional<Stray> damage() const;

  /// Whether `address` lies in a stretch without access, and where. Safe in a signal handler.
  [[nodiscard]] std::optional<Stray> locate(const void* address) const;

 private:
  void reserve(std::size_t bytes);
  [[nodiscard]] std::size_t canaries_behind() const { return against_ == Against::start ? canary_ : room_; }
  void unmap();

  std::size_t canary_;
  std::byte* mapping_ = nullptr;  ///< guard, `capacity_` bytes, guard
  std::size_t capacity_ = 0;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
  Against against_ = Against::end;
};

// Fills and compares memory up to the edge of a guard page. The C library fills and compares short ranges with one
// masked vector access, whose masked-out bytes may lie behind the edge. Nothing faults, but processors take hundreds of
// cycles to find that out, even where the range is empty. These functions touch no address outside the range.

/// From this size on the C library's functions need no masks.
inline constexpr std::size_t kWholeVectors = 64;

/// Sets `size` bytes from `to` on to `value`.
inline void fill_to_edge(std::byte* to, std::byte value, std::size_t size) {
  if (size >= kWholeVectors) {
    std::memset(to, std::to_integer<int>(value), size);
    return;
  }
  const std::uint64_t word = std::to_integer<std::uint64_t>(value) * 0x0101010101010101U;
  for (; size >= sizeof word; size -= sizeof word, to += sizeof word) std::memcpy(to, &word, sizeof word);
  if ((size & 4) != 0) {
    std::memcpy(to, &word, 4);
    to += 4;
  }
  if ((size & 2) != 0) {
    std::memcpy(to, &word, 2);
    to += 2;
  }
  if ((size & 1) != 0) *to = value;
}

/// Whether two stretches of `size` bytes are the same.
[[nodiscard]] inline bool equal_to_edge(const std::byte* one, const std::byte* other, std::size_t size) {
  if (size >= kWholeVectors) return std::memcmp(one, other, size) == 0;
  std::uint64_t difference = 0;
  for (; size >= sizeof difference; size -= sizeof difference) {
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    std::memcpy(&left, one, sizeof left);
    std::memcpy(&right, other, sizeof right);
    difference |= left ^ right;
    one += sizeof left;
    other += sizeof right;
  }
  for (std::size_t i = 0; i < size; ++i) difference |= std::to_integer<std::uint64_t>(one[i] ^ other[i]);
  return difference == 0;
}

/// A flag in memory that another process may write anything to: every byte but 0 means true, where a bool of such a
/// byte is none.
class SharedFlag {
 public:
  SharedFlag() = default;
  operator bool() const { return byte_ != 0; }  // NOLINT(google-explicit-constructor): it stands in for a bool
  SharedFlag& operator=(bool value) {
    byte_ = value ? 1 : 0;
    return *this;
  }

 private:
  std::atomic<std::uint8_t> byte_ = 0;
};

/// The signal handler of a worker writes this before the worker dies.
struct LastWords {
  std::atomic<int> signal = 0;
  SharedFlag of_neighbour;               ///< a node with other values than the case's was running
  SharedFlag out_of_memory;              ///< an allocation failed, or little was left to allocate
  std::atomic<int> slot = kNoSlot;       ///< guarded memory that was left: an input's position, or one of these
  std::atomic<std::int64_t> offset = 0;  ///< bytes from the nearest end
  SharedFlag before;
  SharedFlag wrote;
  std::atomic<std::uintptr_t> address = 0;
  SharedFlag from_outside;        ///< the signal was sent by another process
  std::array<char, 480> threw{};  ///< thrown_text() of what ended the process; ends with a zero
  std::array<char, 200> place{};  ///< write_crash_place(), once `signal` is known; ends with a zero

  static constexpr int kNoSlot = -1;
  static constexpr int kScratch = -2;
  static constexpr int kOutput = -3;  ///< the first; output i is i less
};

// Places the inputs of a case between guard pages.

/// Places the inputs that a backend asks for against the end of their memory or against the start, and finds out
/// afterwards whether the backend changed them or wrote beside them. Reuses its memory for the next case.
class GuardedInputs final : public InputMemory {
 public:
  /// Forgets what was placed; `test_case` must stay until the next begin.
  void begin(const Case& test_case, GuardedMemory::Against against);

  /// Puts the inputs of another case, of the same shapes and types, where those of the last begin lie, converted as
  /// those were. `other` must stay until the next begin.
  void replace(const Case& other);

  [[nodiscard]] std::span<std::byte> bytes(std::size_t position) override;
  [[nodiscard]] std::span<std::byte> converted(std::size_t position, std::size_t size, std::size_t room,
                                               const Fill& fill) override;

  /// The first input that the backend changed, or wrote beside.
  [[nodiscard]] std::optional<Outcome> violation() const;

  /// Writes down which input's guard an address belongs to, if it does. Safe in a signal handler.
  [[nodiscard]] bool locate(const void* address, LastWords& words) const;

 private:
  static constexpr std::size_t kCanary = 64;

  struct Slot {
    GuardedMemory memory{kCanary};
    std::size_t position = 0;
    bool is_converted = false;
    std::span<std::byte> placed;
    Fill fill;                       ///< the conversion of a converted input
    std::vector<std::byte> content;  ///< the content that a converted input has to keep
  };

  Slot& next_slot(std::size_t position, bool is_converted);
  [[nodiscard]] std::span<const std::byte> content_of(const Slot& slot) const;

  const Case* case_ = nullptr;
  GuardedMemory::Against against_ = GuardedMemory::Against::end;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t used_ = 0;  ///< the first of them
};

/// The name of input `position` in reports: ONNX's, "input 9" where the operator has none.
[[nodiscard]] std::string output_text(const Case& test_case, std::size_t output);
[[nodiscard]] std::string input_text(const Case& test_case, std::size_t position);

}  // namespace qconform
