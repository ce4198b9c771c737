// Runs one case on one backend, into output memory that notices what a backend does outside it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "harness/base/bytes.h"
#include "harness/core/backend.h"
#include "harness/core/verdict.h"

namespace qconform {

/// Memory with canaries on both sides, filled with a pattern before it is handed out. Kept from case to case, so that a
/// run allocates only for outputs of a new size.
class GuardedOutput final : public OutputSink {
 public:
  std::span<std::byte> allocate(std::size_t output, ElementType type, std::span<const std::int64_t> shape) override;

  void refuse(Outcome refusal) override { refusal_ = std::move(refusal); }
  std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) override {
    return scratch_.take(bytes, alignment);
  }

  /// The result of the run: the outputs, or a write outside one, or no output. Then ready for the next run.
  [[nodiscard]] Outcome finish();

 private:
  /// Wide enough for the widest stray vector store of a kernel that is off by one tile.
  static constexpr std::size_t kCanaryBytes = 512;

  struct Guarded {
    std::vector<std::byte> memory = {};
    std::size_t shift = 0;  ///< varies the output's alignment
    std::size_t size = 0;
    bool allocated = false;
    ElementType type = ElementType::undefined;
    std::vector<std::int64_t> shape = {};

    [[nodiscard]] std::byte* data() { return memory.data() + kCanaryBytes + shift; }
    [[nodiscard]] std::optional<outcome::WroteOutOfBounds> damage();
  };

  [[nodiscard]] Outcome outcome();

  std::vector<Guarded> outputs_;
  ScratchMemory scratch_;
  std::optional<Outcome> refusal_;
};

/// Prepares and runs the case: in the backend's worker, if it has one; else in this process, where it is
/// trusted not to crash. `classification`: that of the case, where it is known.
[[nodiscard]] Outcome execute(Backend& backend, const Case& test_case, GuardedOutput& output,
                              const Classification* classification = nullptr);

/// Runs a valid case that `outcome` refuses on the backend's siblings, in their order, and adds the
/// first answer (Outcome::elsewhere). The judge tells whether that is right.
void ask_siblings(Backend& backend, const Case& test_case, GuardedOutput& output, Outcome& outcome);

/// Runs a case that has a doubtful_other_input() with that input in a new process, and adds whether that gives the same
/// (OnOtherInput::is_own).
void ask_new_process(Worker& worker, const Case& test_case, Outcome& outcome);

/// execute(), ask_siblings() and ask_new_process(): for whoever judges.
[[nodiscard]] Outcome execute_for_judge(Backend& backend, const Case& test_case, GuardedOutput& output);

}  // namespace qconform
