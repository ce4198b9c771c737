// Runs cases between guard pages, and finds stray accesses, unwritten elements and changed inputs.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/base/bytes.h"
#include "harness/core/backend.h"
#include "harness/core/case.h"

namespace qconform {

// Makes another node with the types and shapes of a given one.

/// Makes `neighbour` the same node as `test_case` with other values: floats of 16 and 32 bits and float8e8m0 are halved
/// where they are normal numbers, integers of up to 8 bits have every second bit inverted, larger ones those of their
/// lowest byte. Shapes, types and attributes are those of `test_case`. A backend may refuse what the values come to.
void make_neighbour(const Case& test_case, Case& neighbour);

/// Makes `other` the same node as `test_case` with another x alone, changed likewise. Returns its position; nothing
/// where the case has none, or one that stays as it is.
[[nodiscard]] std::optional<std::size_t> make_other_input(const Case& test_case, Case& other);

// Checks whether the answers of a backend depend on its inputs alone: keeps the outputs of single runs and compares
// them.

/// Whether outputs of a case differ because the backend remembers earlier runs, and not by chance: four times
/// in turn, `happens_again` gets the same outputs once more, and two runs agree that are prepared anew in memory that
/// no case lay in before. The inputs of these are kept, up to 16 MiB in a process, so that no later case gets their
/// memory.
[[nodiscard]] bool remembers(Backend& backend, const Case& test_case, const std::function<bool()>& happens_again);

/// Whether the memory that this process allocates grows with each node that is prepared and given back, or with each
/// run of one node: GrewMemory where it does by the same amount again and again; else the outcome of a run.
[[nodiscard]] Outcome memory_growth(Backend& backend, const Case& test_case);

/// Keeps the output of a run. Bytes that the run leaves unwritten are kPoison.
class KeptOutput final : public OutputSink {
 public:
  std::span<std::byte> allocate(std::size_t output, ElementType type, std::span<const std::int64_t> shape) override {
    if (outputs_.size() <= output) outputs_.resize(output + 1);
    Tensor& tensor = outputs_[output] = {type, {shape.begin(), shape.end()}, {}};
    tensor.bytes.assign(static_cast<std::size_t>(bytes_for(type, elements_of(shape))), kPoison);
    return tensor.bytes;
  }
  void refuse(Outcome /*refusal*/) override { refused_ = true; }
  std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) override {
    return scratch_.take(bytes, alignment);
  }

  /// The outputs; none where the run refused, or asked for no memory.
  [[nodiscard]] std::optional<std::vector<Tensor>> take() {
    return refused_ || outputs_.empty() ? std::nullopt : std::optional(std::move(outputs_));
  }

 private:
  static constexpr std::byte kPoison{0x66};

  std::vector<Tensor> outputs_;
  ScratchMemory scratch_;
  bool refused_ = false;
};

/// Runs `prepared` once and returns its outputs; none where the run refused, or asked for no memory.
[[nodiscard]] inline std::optional<std::vector<Tensor>> outputs_of(PreparedCase& prepared) {
  KeptOutput output;
  prepared.run(output);
  return output.take();
}

// The runs themselves.

/// Reports use this name for the memory of OutputSink::scratch.
inline constexpr const char* kScratchName = "the scratch memory";

/// Runs cases in guarded memory, once, or closely:
///   1. prepared with every tensor against the end of its memory, and run;
///   2. a neighbour, the same node with other values, prepared elsewhere against the start, and run;
///   3. what 1 prepared is run again;
///   4. the case prepared where the neighbour lay, and run.
/// For a backend that takes other inputs, it runs the node of 1 on another x between 3 and 4, in the memory of the
/// first x, then a newly prepared node on that x; the outputs must be the same. The outcome has that output too, so
/// that the judge can judge it. The case's own x comes last: what a backend keeps of it meets the next case.
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
  /// Prepares and runs another case than the one in question, in the memory of neighbours.
  [[nodiscard]] Outcome run_elsewhere(Backend& backend, const Case& test_case, std::byte poison);
  void compare_on_other_input(Outcome again, Outcome alone, Look& look);
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
