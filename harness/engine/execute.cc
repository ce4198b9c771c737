#include "harness/engine/execute.h"

#include <algorithm>
#include <cstring>

namespace qconform {

Outcome execute(Backend& backend, const Case& test_case, GuardedOutput& output) {
  if (Worker* worker = backend.worker()) return worker->examine(test_case);
  Preparation preparation = backend.prepare(test_case);
  if (auto* unsupported = std::get_if<outcome::Unsupported>(&preparation)) return std::move(*unsupported);
  if (auto* rejected = std::get_if<outcome::Rejected>(&preparation)) return std::move(*rejected);
  std::get<std::unique_ptr<PreparedCase>>(preparation)->run(output);
  return output.finish();
}

namespace {

constexpr std::byte kCanary{0xA5};
constexpr std::byte kPoison{0xAA};
constexpr std::size_t kLargestShift = 64;

}  // namespace

std::span<std::byte> GuardedOutput::allocate(ElementType type, std::span<const std::int64_t> shape) {
  type_ = type;
  shape_.assign(shape.begin(), shape.end());
  size_ = static_cast<std::size_t>(bytes_for(type, elements_of(shape)));
  // Odd shifts for byte outputs show kernels that need alignment; wider elements keep theirs.
  const auto element = static_cast<std::size_t>(std::max(1, bits_of(type) / 8));
  shift_ = (shift_ / element + 1) * element % kLargestShift;
  const std::size_t needed = 2 * kCanaryBytes + kLargestShift + size_;
  if (memory_.size() < needed) memory_.resize(needed);
  std::memset(memory_.data(), std::to_integer<int>(kCanary), needed);
  std::memset(output(), std::to_integer<int>(kPoison), size_);
  allocated_ = true;
  return {output(), size_};
}

Outcome GuardedOutput::finish() {
  if (refusal_) {
    allocated_ = false;
    return *std::exchange(refusal_, std::nullopt);
  }
  if (!allocated_) return outcome::LeftUnwritten{"run ended without asking for an output"};
  allocated_ = false;
  using Side = outcome::WroteOutOfBounds::Side;
  for (std::size_t i = 1; i <= kCanaryBytes; ++i) {
    if (output()[size_ + i - 1] != kCanary) return outcome::WroteOutOfBounds{Side::after, static_cast<std::int64_t>(i)};
    if (*(output() - i) != kCanary) return outcome::WroteOutOfBounds{Side::before, static_cast<std::int64_t>(i)};
  }
  return outcome::Produced{Tensor{type_, shape_, std::vector<std::byte>(output(), output() + size_)}};
}

}  // namespace qconform
