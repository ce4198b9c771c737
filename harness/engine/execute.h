// One case on one backend, into output memory that notices what a backend does outside it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "harness/base/aligned_bytes.h"
#include "harness/core/backend.h"
#include "harness/core/outcome.h"

namespace qconform {

/// Memory for one output at a time, with canaries on both sides, filled with a pattern before it is
/// handed out. Kept from case to case, so that a run allocates only for outputs of a new size.
class GuardedOutput final : public OutputSink {
 public:
  std::span<std::byte> allocate(ElementType type, std::span<const std::int64_t> shape) override;

  void refuse(Outcome refusal) override { refusal_ = std::move(refusal); }
  std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) override {
    return scratch_.take(bytes, alignment);
  }

  /// What the run that just ended did: the output, or a write outside it, or no output at all.
  /// Ready for the next run afterwards.
  [[nodiscard]] Outcome finish();

 private:
  [[nodiscard]] std::byte* output() { return memory_.data() + kCanaryBytes + shift_; }

  /// Wide enough for the widest stray vector store of a kernel that is off by one tile.
  static constexpr std::size_t kCanaryBytes = 512;

  std::vector<std::byte> memory_;
  ScratchMemory scratch_;
  std::size_t shift_ = 0;  ///< varies the output's alignment
  std::size_t size_ = 0;
  bool allocated_ = false;
  std::optional<Outcome> refusal_;
  ElementType type_ = ElementType::undefined;
  std::vector<std::int64_t> shape_;
};

/// Prepares and runs the case: in the backend's worker, if it has one; else in this process, where it is
/// trusted not to crash.
[[nodiscard]] Outcome execute(Backend& backend, const Case& test_case, GuardedOutput& output);

}  // namespace qconform
