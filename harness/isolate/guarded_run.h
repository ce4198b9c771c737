// Cases between guards: what a backend does outside its tensors, leaves out or changes.
#pragma once

#include <optional>

#include "harness/core/backend.h"
#include "harness/isolate/guarded_inputs.h"
#include "harness/isolate/guarded_memory.h"
#include "harness/isolate/last_words.h"

namespace qconform {

/// Runs cases in guarded memory. The first run of a case has every tensor against the end of its
/// memory, the second, prepared anew, against the start; the output is filled with another pattern each
/// time. So bytes that stay as they were filled are unwritten, and other differences between the two outputs
/// show that the backend is not a function of its inputs. An access beyond the guards is a fault, which the
/// process's signal handler tells apart with locate().
class GuardedRun {
 public:
  /// `closely`: with the second run. Without it a share of the cases has one still, and who judges the outcome may ask.
  [[nodiscard]] Outcome operator()(Backend& backend, const Case& test_case, bool closely);

  /// Whether a case has its second run in any case. One in 32 has, drawn by the data of its first input.
  [[nodiscard]] static bool is_drawn(const Case& test_case);

  /// Writes down which tensor's guard an address belongs to, if it does. Safe in a signal handler.
  void locate(const void* address, LastWords& words) const;

 private:
  class Output;

  /// Wide enough for the widest stray vector store of a kernel that is off by one tile.
  static constexpr std::size_t kOutputCanary = 512;

  [[nodiscard]] Outcome once(Backend& backend, const Case& test_case, GuardedMemory::Against against, std::byte poison);
  [[nodiscard]] std::optional<Outcome> violation(std::uint64_t mode_before) const;

  GuardedMemory output_{kOutputCanary};
  GuardedInputs inputs_;
};

}  // namespace qconform
