// Places the inputs of a case between guard pages.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/core/backend.h"
#include "harness/core/outcome.h"

namespace qconform {

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
    Fill fill;                       ///< of a converted one
    std::vector<std::byte> content;  ///< what a converted one has to keep
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
