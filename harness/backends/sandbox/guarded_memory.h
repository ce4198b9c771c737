// Memory between guard pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "harness/core/outcome.h"

namespace qconform {

using Side = outcome::WroteOutOfBounds::Side;

/// Where a stray access was: bytes from the nearest end of the tensor; 1 is the nearest.
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

}  // namespace qconform
