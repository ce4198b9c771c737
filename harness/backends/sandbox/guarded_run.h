// Runs cases between guard pages, and finds stray accesses, unwritten elements and changed inputs.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/core/backend.h"

namespace qconform {

/// Reports use this name for the memory of OutputSink::scratch.
inline constexpr const char* kScratchName = "the scratch memory";

/// Runs cases in guarded memory, once, or closely:
///   1. prepared with every tensor against the end of its memory, and run;
///   2. a neighbour, the same node with other values, prepared elsewhere against the start, and run;
///   3. what 1 prepared is run again;
///   4. the case prepared where the neighbour lay, and run.
/// For a backend that takes other inputs, it runs the node of 1 on another x between 3 and 4, in the memory of the
/// first x; after 4 it runs a newly prepared node on that x, and the outputs must be the same. The outcome has that
/// output too, so that the judge can judge it.
///
/// It fills the output with one pattern in 1 and with another in 3 and 4. So bytes that keep the pattern are
/// unwritten, and other differences show that the backend is not a function of its inputs: that it remembers earlier
/// runs, or answers at random. An access beyond the guards is a fault, which the process's signal handler explains
/// with locate().
class GuardedRun {
 public:
  /// Without `closely` it still looks closely at a share of the cases, and the judge may ask for it.
  [[nodiscard]] Outcome operator()(Backend& backend, const Case& test_case, bool closely);

  /// Called before each run; `of_neighbour`: of the node with other values.
  std::function<void(bool of_neighbour)> begins = [](bool) {};

  /// Whether the case is one of the 1 in 32 that are always looked at closely, drawn by the data of the first input.
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
  [[nodiscard]] std::optional<Outcome> violation(const Case& test_case, std::uint64_t mode_before) const;

  std::deque<GuardedMemory> outputs_;
  GuardedMemory scratch_{kOutputCanary};
  GuardedInputs inputs_;
  GuardedInputs other_inputs_;  ///< the inputs of all nodes but the first
  Case neighbour_;
  Case other_;                                 ///< the case with another input
  std::optional<std::size_t> other_position_;  ///< the position of the input in which other_ differs
  bool is_neighbour_ = false;                  ///< the node that is prepared or run has other values than the case
};

}  // namespace qconform
