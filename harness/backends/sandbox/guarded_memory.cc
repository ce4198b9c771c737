#include "harness/backends/sandbox/guarded_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <new>

namespace qconform {
namespace {

// Wider than a page: the report still names the tensor that a stride leaves.
constexpr std::size_t kGuardBytes = std::size_t{256} << 10;
constexpr std::size_t kSmallestCapacity = std::size_t{64} << 10;
constexpr std::size_t kPageMultiple = kSmallestCapacity;  // no system has larger pages
constexpr std::byte kCanaryByte{0xA5};

}  // namespace

GuardedMemory::~GuardedMemory() {
  unmap();
}

void GuardedMemory::unmap() {
  if (mapping_ != nullptr) (void)munmap(mapping_, capacity_ + 2 * kGuardBytes);
  mapping_ = nullptr;
  capacity_ = 0;
}

void GuardedMemory::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  unmap();
  const std::size_t capacity = std::max(kSmallestCapacity, (bytes + kPageMultiple - 1) / kPageMultiple * kPageMultiple);
  void* mapping =
      mmap(nullptr, capacity + 2 * kGuardBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  auto* start = static_cast<std::byte*>(mapping);
  if (mprotect(start + kGuardBytes, capacity, PROT_READ | PROT_WRITE) != 0) {
    (void)munmap(mapping, capacity + 2 * kGuardBytes);
    throw std::bad_alloc();
  }
  mapping_ = start;
  capacity_ = capacity;
}

std::span<std::byte> GuardedMemory::place(std::size_t size, Against against, std::size_t room) {
  reserve(size + canary_ + room);
  std::byte* const start = mapping_ + kGuardBytes;
  against_ = against;
  size_ = size;
  room_ = room;
  data_ = against == Against::start ? start : start + capacity_ - size - room;
  if (against == Against::end) fill_to_edge(data_ - canary_, kCanaryByte, canary_);
  fill_to_edge(data_ + size, kCanaryByte, canaries_behind());
  return {data_, size_};
}

std::optional<Stray> GuardedMemory::damage() const {
  if (data_ == nullptr) return std::nullopt;
  static const auto kIntact = [] {
    std::array<std::byte, kLargestCanary> intact{};
    intact.fill(kCanaryByte);
    return intact;
  }();
  const auto is_intact = [](const std::byte* canary, std::size_t size) {
    return equal_to_edge(canary, kIntact.data(), size);
  };
  const std::size_t before = against_ == Against::end ? canary_ : 0;
  const std::size_t behind = canaries_behind();
  if (is_intact(data_ - before, before) && is_intact(data_ + size_, behind)) return std::nullopt;
  for (std::size_t i = 1; i <= std::max(before, behind); ++i) {
    if (i <= behind && data_[size_ + i - 1] != kCanaryByte) return Stray{Side::after, static_cast<std::int64_t>(i)};
    if (i <= before && *(data_ - i) != kCanaryByte) return Stray{Side::before, static_cast<std::int64_t>(i)};
  }
  return std::nullopt;
}

std::optional<Stray> GuardedMemory::locate(const void* address) const {
  if (data_ == nullptr) return std::nullopt;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto first = reinterpret_cast<std::uintptr_t>(mapping_);
  const auto begin = reinterpret_cast<std::uintptr_t>(data_);
  const auto room = first + kGuardBytes;
  if (at >= first && at < room) return Stray{Side::before, static_cast<std::int64_t>(begin - at)};
  if (at >= room + capacity_ && at < room + capacity_ + kGuardBytes) {
    return Stray{Side::after, static_cast<std::int64_t>(at - (begin + size_) + 1)};
  }
  return std::nullopt;
}

}  // namespace qconform
