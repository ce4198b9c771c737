// Cases between guards: what a backend does outside its tensors, leaves out or changes.
#pragma once

#include <functional>
#include <optional>

#include "harness/backends/sandbox/guarded_inputs.h"
#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/core/backend.h"

namespace qconform {

/// What reports call the memory of OutputSink::scratch.
inline constexpr const char* kScratchName = "the scratch memory";

/// Runs cases in guarded memory, once, or closely:
///   1. prepared with every tensor against the end of its memory, and run;
///   2. a neighbour, the same node with other values, prepared elsewhere against the start, and run;
///   3. what 1 prepared is run again;
///   4. the case prepared where the neighbour lay, and run.
/// Of a backend that takes other inputs, between 3 and 4 what 1 prepared is run on another x, which lies where the
/// first lay; and after 4 a newly prepared node is run on that x, whose output has to be the same. That output goes
/// along with the outcome, so that who knows what is right can judge it too.
///
/// The output is filled with one pattern in 1 and with another in 3 and 4. So bytes that stay as they were filled are
/// unwritten, and other differences show that the backend is not a function of its inputs: that it remembers earlier
/// runs, or answers at random. An access beyond the guards is a fault, which the process's signal handler tells
/// apart with locate().
class GuardedRun {
 public:
  /// Without `closely` a share of the cases is looked at closely still, and who judges the outcome may ask.
  [[nodiscard]] Outcome operator()(Backend& backend, const Case& test_case, bool closely);

  /// Called before each run; `of_neighbour`: of the node with other values.
  std::function<void(bool of_neighbour)> begins = [](bool) {};

  /// Whether a case is looked at closely in any case. One in 32 is, drawn by the data of its first input.
  [[nodiscard]] static bool is_drawn(const Case& test_case);

  /// Writes down which tensor's guard an address belongs to, if it does. Safe in a signal handler.
  void locate(const void* address, LastWords& words) const;

 private:
  class Output;
  class Node;
  struct Look;

  /// Wide enough for the widest stray vector store of a kernel that is off by one tile.
  static constexpr std::size_t kOutputCanary = 512;

  [[nodiscard]] Look look(Backend& backend, const Case& test_case, bool closely);
  [[nodiscard]] std::optional<Outcome> run_neighbour(Backend& backend, const Case& test_case);
  [[nodiscard]] std::optional<Outcome> run_on_other_input(const Backend& backend, const Case& test_case, Node& node);
  void compare_on_other_input(Backend& backend, Outcome again, Look& look);
  [[nodiscard]] std::optional<Outcome> violation(std::uint64_t mode_before) const;

  GuardedMemory output_{kOutputCanary};
  GuardedMemory scratch_{kOutputCanary};
  GuardedInputs inputs_;
  GuardedInputs other_inputs_;  ///< of the neighbour, and of the case in its place
  Case neighbour_;
  Case other_;                                 ///< the case with another input
  std::optional<std::size_t> other_position_;  ///< of that input
  bool is_neighbour_ = false;                  ///< what is prepared or run has other values than the case
};

}  // namespace qconform
