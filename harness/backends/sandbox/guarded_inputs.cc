#include "harness/backends/sandbox/guarded_inputs.h"

#include <algorithm>
#include <cstring>

#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/model/operator.h"

namespace qconform {

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
