#include "harness/backends/sandbox/guarded_memory.h"

#include <sys/mman.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "harness/model/operator.h"

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

std::string input_text(const Case& test_case, std::size_t position) {
  const std::string_view name = input_name(test_case, position);
  return name.empty() ? "input " + std::to_string(position) : std::string(name);
}

std::string output_text(const Case& test_case, std::size_t output) {
  if (output >= test_case.outputs.size()) return "the output";
  return "the output " + test_case.outputs[output];
}

void GuardedInputs::begin(const Case& test_case, GuardedMemory::Against against) {
  case_ = &test_case;
  against_ = against;
  used_ = 0;
}

void GuardedInputs::replace(const Case& other) {
  case_ = &other;
  for (std::size_t i = 0; i < used_; ++i) {
    Slot& slot = *slots_[i];
    if (slot.is_converted) {
      slot.fill(*other.inputs[slot.position], slot.placed);
      slot.content.assign(slot.placed.begin(), slot.placed.end());
      continue;
    }
    const std::span<const std::byte> content = content_of(slot);
    std::copy(content.begin(), content.end(), slot.placed.begin());
  }
}

GuardedInputs::Slot& GuardedInputs::next_slot(std::size_t position, bool is_converted) {
  if (used_ == slots_.size()) slots_.push_back(std::make_unique<Slot>());
  Slot& slot = *slots_[used_++];
  slot.position = position;
  slot.is_converted = is_converted;
  return slot;
}

std::span<std::byte> GuardedInputs::bytes(std::size_t position) {
  for (std::size_t i = 0; i < used_; ++i) {
    if (slots_[i]->position == position && !slots_[i]->is_converted) return slots_[i]->placed;
  }
  const auto& bytes = case_->inputs[position]->bytes;
  Slot& slot = next_slot(position, false);
  slot.placed = slot.memory.place(bytes.size(), against_);
  if (!bytes.empty()) std::memcpy(slot.placed.data(), bytes.data(), bytes.size());
  return slot.placed;
}

std::span<std::byte> GuardedInputs::converted(std::size_t position, std::size_t size, std::size_t room,
                                              const Fill& fill) {
  Slot& slot = next_slot(position, true);
  slot.placed = slot.memory.place(size, against_, std::min(room, kCanary));
  fill(*case_->inputs[position], slot.placed);
  slot.fill = fill;
  slot.content.assign(slot.placed.begin(), slot.placed.end());
  return slot.placed;
}

std::span<const std::byte> GuardedInputs::content_of(const Slot& slot) const {
  return slot.is_converted ? slot.content : case_->inputs[slot.position]->bytes;
}

std::optional<Outcome> GuardedInputs::violation() const {
  for (std::size_t i = 0; i < used_; ++i) {
    const Slot& slot = *slots_[i];
    if (const auto stray = slot.memory.damage()) {
      return outcome::ReadOutOfBounds{input_text(*case_, slot.position), stray->side, stray->offset, true};
    }
    const std::span<const std::byte> content = content_of(slot);
    if (equal_to_edge(content.data(), slot.placed.data(), content.size())) continue;
    const auto change = std::mismatch(content.begin(), content.end(), slot.placed.begin());
    const std::string form = slot.is_converted ? " (in the form that the library takes)" : "";
    return outcome::ChangedInput{input_text(*case_, slot.position) + form, change.first - content.begin()};
  }
  return std::nullopt;
}

bool GuardedInputs::locate(const void* address, LastWords& words) const {
  for (std::size_t i = 0; i < used_; ++i) {
    const auto stray = slots_[i]->memory.locate(address);
    if (!stray) continue;
    words.slot = static_cast<int>(slots_[i]->position);
    words.offset = stray->offset;
    words.before = stray->side == Side::before;
    return true;
  }
  return false;
}

}  // namespace qconform
