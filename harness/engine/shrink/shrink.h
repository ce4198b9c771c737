// From a failing case to the smallest one found that fails in the same way.
//
// Deterministic: the same case, backend and limits give the same result, unless the time limit cuts the search short.
// Ends because every step makes measure() smaller.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/core/verdict.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/model/reductions/reductions.h"
#include "harness/report/report.h"

namespace qconform {
class Diagnoser;
class Waivers;
}  // namespace qconform

namespace qconform::shrink {

// The properties that a shrunk case must share with the original case to count as the same failure.

/// The semantics of a case, as far as shrinking must keep them.
struct Requirement {
  Expectation expectation = Expectation::unstated;
  std::vector<std::string> rules;  ///< "C8 pads" of the violation, or the rules that make it implementation-defined
  bool value_is_open = false;
  bool operator==(const Requirement&) const = default;
};

[[nodiscard]] Requirement requirement_of(const Classification& classification);

/// How far the most distant wrong element is from the right value.
enum class Distance : std::uint8_t {
  none,          ///< no value is wrong
  incomparable,  ///< one of the two is NaN or infinite
  one,           ///< an integer is off by 1; a float by 1 %, or by one step of its type
  more,          ///< by more
};

/// How a backend failed, as far as shrinking must keep it.
struct Failure {
  VerdictKind kind = VerdictKind::pass;
  std::string rule;
  std::string place;  ///< for a crash, signal and function; for a stray access, tensor and side; else empty
  Distance distance = Distance::none;
  int sign = 0;  ///< sign of the error of the most distant element: -1 too low, 1 too high

  bool operator==(const Failure&) const = default;
};

/// `verdict` is that on `outcome`, and fails.
[[nodiscard]] Failure failure_of(const Expected& expected, const Outcome& outcome, const Verdict& verdict);

// How large a case is: what shrinking makes smaller with every step, so that it ends.

/// Compared from the first number to the last: what matters most to a reader comes first.
struct Measure {
  std::uint64_t nodes = 0;         ///< nodes of the graph
  std::uint64_t elements = 0;      ///< elements of inputs with their padding and of the output, where that is known
  std::uint64_t structure = 0;     ///< inputs, dimensions, attributes and what they say
  std::uint64_t zero_points = 0;   ///< zero points that are not 0
  std::uint64_t scales = 0;        ///< complexity of the scales
  std::uint64_t contributing = 0;  ///< values, weights and biases that contribute to a sum
  std::uint64_t magnitude = 0;     ///< distance of all values from those that contribute nothing
  auto operator<=>(const Measure&) const = default;
};

[[nodiscard]] Measure measure(const Case& test_case, const std::optional<std::int64_t>& output_elements);

// Shrinking: of one case, and of the findings of a report.

/// Runs one case on the backend that fails: in this process, in a worker, wherever.
using Runner = std::function<Outcome(const Case&)>;

/// The backend in this process. It must outlive the runner.
[[nodiscard]] Runner in_process(Backend& backend);

/// Whether a failing answer to a case has the cause that is to stay. The expectation is assessed.
using HasCause = std::function<bool(const Expected&, const Outcome&)>;

struct Limits {
  std::uint64_t runs = 5000;  ///< runs of the backend; one that times out counts as 100, one that ends its process as 4
  double seconds = 4;         ///< wall-clock time; a run that has begun is not cut short
  /// Seconds since any fixed moment; the steady clock where empty.
  std::function<double()> clock;
  ReductionStage last_stage = ReductionStage::values;  ///< reductions behind it are not tried
};

enum class Ending : std::uint8_t {
  minimal,         ///< no single step of those that are tried makes it smaller and fails in the same way
  runs,            ///< the limit on runs was reached
  seconds,         ///< the limit on time was reached
  does_not_fail,   ///< the case does not fail at all: nothing was shrunk
  not_reproduced,  ///< the failure came and went: the case is the one given
};

/// "minimal", "runs", "seconds", "does-not-fail", "not-reproduced"
[[nodiscard]] std::string_view name_of(Ending ending);

struct Result {
  Case smallest;    ///< the case given, where nothing was shrunk
  Verdict verdict;  ///< verdict on `smallest`
  Ending ending = Ending::minimal;
  std::uint64_t runs = 0;   ///< runs of the backend
  std::uint64_t steps = 0;  ///< reductions taken
  double seconds = 0;
  /// Reductions taken, by name, in the order in which they are tried.
  std::vector<std::pair<std::string, std::uint64_t>> reduced;
  std::vector<Case> met;  ///< cases on the way that failed in other ways, a few

  [[nodiscard]] bool is_shrunk() const { return steps > 0; }
};

/// A smaller case counts as failing in the same way when it has the same expectation, by the same rules (the
/// violation's rule and field, or the rules that make the case implementation-defined), the same Failure,
/// and the same `cause`, where that is given and the case given has it. The result records what the backend gave.
///
/// `expected` is the kind of verdict that the case is known for, if it is: a different one at first
/// means that the failure is not reproduced. Tries the case given up to three times, and the result
/// once more at the end.
[[nodiscard]] Result shrink(const Case& failing, const Runner& runner, const Policy& policy, const Limits& limits = {},
                            std::optional<VerdictKind> expected = std::nullopt, const HasCause& cause = {});

/// The smallest part of a case that fails in the same way.
struct FailingPart {
  Case part;
  std::string how;  ///< ", by one", ", crashed"; empty of wrong values that are further off

  /// "DequantizeLinear+Relu+QuantizeLinear, by one".
  [[nodiscard]] std::string name() const { return part.op_types() + how; }
};

/// Nothing where the case does not fail.
[[nodiscard]] std::optional<FailingPart> failing_part(const Case& failing, const Runner& run, const Policy& policy);

struct FindingLimits {
  Limits each;
  double seconds = 60;             ///< for all findings together; those that come too late keep their case
  Diagnoser* diagnoser = nullptr;  ///< settled; knows the findings' causes. Null: they have none
  const Waivers* waivers = nullptr;
  std::function<bool()> stop = {};  ///< asked before each finding whether the others keep their case; may be empty
};

/// Replaces the example of each finding by the smallest case that fails in the same way, and its
/// verdict by that case's; what it was stays in Finding::shrinking. Failures of another signature that are met on the
/// way become findings of their own, unless a waiver covers them; findings that turn out to be one are joined
/// (join_findings()). The backend is the one of that name; findings of others, and waived ones, are left alone.
/// `shrunk` is called with each finding that was tried, and the number of its backend; may be empty.
void shrink_findings(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                     const FindingLimits& limits = {}, const std::function<void(Finding&, std::size_t)>& shrunk = {});

}  // namespace qconform::shrink
