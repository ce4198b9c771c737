// Outcomes: how a backend answered a case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/core/tensor.h"

namespace qconform {

namespace outcome {

/// The output tensors were written, in bounds and completely as far as could be seen.
struct Produced {
  Produced() = default;
  explicit Produced(Tensor output) { outputs.push_back(std::move(output)); }
  explicit Produced(std::vector<Tensor> all) : outputs(std::move(all)) {}

  std::vector<Tensor> outputs;  ///< in the order of the case's outputs
};
/// A clean refusal of something the backend does not implement.
struct Unsupported {
  std::string reason;
};
/// A clean refusal of the case as wrong.
struct Rejected {
  std::string reason;
};
struct Crashed {
  int signal = 0;
  std::string detail;
  std::string place{};  ///< the signal, and where: "SIGFPE in libdnnl.so.2: dnnl::f"; empty where that is not known
};
/// The backend ended its process by itself.
struct Exited {
  int status = 0;
};
/// The backend asked for more memory than it may have.
struct OutOfMemory {
  std::int64_t limit = 0;  ///< bytes
};
struct TimedOut {
  double seconds = 0;
};
/// The backend wrote outside its output.
struct WroteOutOfBounds {
  enum class Side : std::uint8_t { before, after };
  Side side = Side::after;
  std::int64_t offset = 0;  ///< bytes from the nearest end
  std::string of = "the output";
};
/// The backend accessed memory beside an input.
struct ReadOutOfBounds {
  std::string tensor;  ///< "w"
  WroteOutOfBounds::Side side = WroteOutOfBounds::Side::after;
  std::int64_t offset = 0;  ///< bytes from the nearest end; 1 is the nearest
  bool wrote = false;
};
/// run returned without asking for an output, or left bytes of it unwritten.
struct LeftUnwritten {
  std::string detail;
};
/// Two runs of the same case gave different outputs.
struct Nondeterministic {
  std::string detail;
};
/// Earlier runs, of the same prepared node or of another, changed the output.
struct DependsOnEarlierRuns {
  std::string detail;
};
/// A run beside runs of other threads gave another output than a single run.
struct ThreadDependent {
  std::string detail;
};
struct ChangedInput {
  std::string tensor;
  std::int64_t byte = 0;  ///< the first that changed
};
/// The backend answered what its interface does not define: a status without a meaning, another count of outputs.
struct BrokenInterface {
  std::string detail;
};
/// An exception left the backend, in a call or in a thread of its own.
struct Threw {
  std::string detail;  ///< its type, and what it says: "std::runtime_error: no kernel"
};
/// The run changed the rounding, flushing or exception masks of the floating-point unit.
struct ChangedFloatMode {
  std::string detail;
};

using Any = std::variant<Produced, Unsupported, Rejected, Crashed, Exited, OutOfMemory, TimedOut, WroteOutOfBounds,
                         ReadOutOfBounds, LeftUnwritten, Nondeterministic, ChangedInput, ChangedFloatMode,
                         ThreadDependent, DependsOnEarlierRuns, BrokenInterface, Threw>;

}  // namespace outcome

/// The output of the same prepared node for another input, where a run of the case gave an output and the backend takes
/// other inputs. Only its values may be wrong.
struct OnOtherInput {
  std::size_t position = 0;  ///< position of the input that was another
  Tensor input;
  std::vector<Tensor> outputs;
};

/// The answer of another setting, form or release of the same library to a case that the backend refused.
struct AnswerElsewhere {
  std::string backend;  ///< its name
  std::vector<Tensor> outputs;
};

struct Outcome : outcome::Any {
  using outcome::Any::Any;
  // Compiled once: in every file that moves an outcome they would be a sixth of the time that it takes to compile.
  Outcome(const Outcome& other);
  Outcome(Outcome&& other) noexcept;
  Outcome& operator=(const Outcome& other);
  Outcome& operator=(Outcome&& other) noexcept;
  ~Outcome();

  /// The outcome is of a run of the same node with other values, which shows whether the backend keeps them apart.
  bool of_neighbour = false;
  std::optional<OnOtherInput> on_other_input;
  std::optional<AnswerElsewhere> elsewhere;  ///< set where this outcome is a refusal
  /// How an earlier run of the case ended, which was not the backend's doing as far as could be seen: "ended by
  /// SIGKILL". The outcome is that of a second run. Empty where there was no such run.
  std::string lost;
  /// The output of the backend on stdout and stderr meanwhile; its end where it is long. Only backends in worker
  /// processes have it.
  std::string log;
};

/// Whether the backend cleanly refused the case: Unsupported or Rejected.
[[nodiscard]] bool is_refusal(const Outcome& outcome);
/// The reason of a clean refusal; empty of other outcomes.
[[nodiscard]] std::string reason_of(const Outcome& outcome);

/// The tensor produced, where there is exactly one; null otherwise.
[[nodiscard]] const Tensor* output_of(const Outcome& outcome);

}  // namespace qconform
