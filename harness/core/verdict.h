// How a backend answered a case, the judge's verdict on that, and the fate of single cases.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/core/fields.h"
#include "harness/core/tensor.h"
#include "reference/numerics/admissible.h"

namespace qconform {

// Outcomes: the answers of backends.

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
/// The backend never gives back memory that it allocates for each node that it prepares, or for each run.
struct GrewMemory {
  std::int64_t per_prepare = 0;  ///< bytes
  std::int64_t per_run = 0;      ///< bytes
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
                         ThreadDependent, DependsOnEarlierRuns, BrokenInterface, Threw, GrewMemory>;

}  // namespace outcome

/// The output of the same prepared node for another input, where a run of the case gave an output and the backend takes
/// other inputs. Only its values may be wrong.
struct OnOtherInput {
  std::size_t position = 0;  ///< position of the input that was another
  Tensor input;
  std::vector<Tensor> outputs;
  /// Whether a process that has run no other case gives these outputs too; nothing where none was asked.
  std::optional<bool> is_own = std::nullopt;
};

/// The answer to a case in a process that had run others before it, beside that of a process that had not.
struct AfterOthers {
  std::vector<Tensor> outputs = {};  ///< none where it computed nothing
  std::string end = {};              ///< how it ended where it computed nothing: "crashed: SIGSEGV reading address 0x0"
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
  std::optional<AfterOthers> after_others;   ///< set where this outcome is that of a process of its own
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

// Verdicts: the judge's opinion on outcomes.

enum class VerdictKind : std::uint8_t {
  pass,          ///< computed right
  vacuous,       ///< right, but the output proves nothing: nearly all elements saturated or alike, or
                 ///< the right values lie so far apart that most others would have passed too
  wrong,         ///< a value outside the admissible set
  bad_shape,     ///< output of another shape or type than the operator's
  not_rejected,  ///< computed something out of contract
  crashed,
  timed_out,
  out_of_bounds,  ///< wrote beside a tensor
  unwritten,      ///< left its output unwritten
  unsupported,    ///< declined: a clean refusal of a valid case, counted and listed
  inconsistent,   ///< answers that contradict each other, by a relation between them
  exited,         ///< ended its process
  out_of_memory,
  read_out_of_bounds,  ///< read memory beside an input
  nondeterministic,    ///< two runs of the case, two outputs
  changed_input,
  changed_float_mode,  ///< left other rounding or flushing modes behind
  thread_dependent,    ///< runs at once in several threads, other outputs than of one alone
  refused,             ///< rightly: a case out of contract, or one that may be refused; nothing was computed
  not_asked,           ///< not sent: out of contract, to a backend that assumes valid nodes; or the backend was stopped
  depends_on_earlier_runs,  ///< earlier runs, of this node or another, changed the output
  refused_here,      ///< refused a valid case that another setting, form or release of the same library computes right
  broken_interface,  ///< answered what its interface does not define: another status, another count of outputs
  not_judged,        ///< computed a case that qconform cannot judge: an operator that it does not know, a size limit
  threw,             ///< an exception left it
  depends_on_earlier_node,  ///< right in a process of its own, and not after other nodes
  grows_memory,             ///< allocates and never gives back, with each node or each run
};

inline constexpr int kVerdictKinds = 27;

/// "pass", "wrong", "bad-shape", "not-rejected", ...
[[nodiscard]] std::string_view name_of(VerdictKind kind);

/// Whether a verdict of this kind means that the backend does not conform.
[[nodiscard]] bool is_failure(VerdictKind kind);

/// Whether the backend computed nothing without failing: it declined, rightly refused, or got no request.
[[nodiscard]] constexpr bool is_refusal(VerdictKind kind) {
  return kind == VerdictKind::unsupported || kind == VerdictKind::refused || kind == VerdictKind::not_asked;
}

/// Whether the verdict's detail is a reason that reports count cases by: why a case was declined, why its output proves
/// nothing, or why it is not judged.
[[nodiscard]] constexpr bool has_reason(VerdictKind kind) {
  return kind == VerdictKind::unsupported || kind == VerdictKind::vacuous || kind == VerdictKind::not_judged;
}

/// Whether the output is wrong, by its values or its shape: what a model of a defect may compute too.
[[nodiscard]] constexpr bool has_wrong_output(VerdictKind kind) {
  return kind == VerdictKind::wrong || kind == VerdictKind::bad_shape;
}

/// Whether an output was computed that has a right value: right, wrong, or of a wrong shape.
[[nodiscard]] constexpr bool is_computed(VerdictKind kind) {
  return kind == VerdictKind::pass || kind == VerdictKind::vacuous || has_wrong_output(kind);
}

/// How many elements meet which tier at best, of operators that have tiers.
struct TierCounts {
  std::array<std::uint64_t, std::size(reference::kAllTiers)> by_tier{};  ///< by strictest tier, indexed by Tier
  std::uint64_t none = 0;                                                ///< in no tier's set
  reference::TierSet common = reference::TierSet::all();                 ///< tiers that every element meets

  [[nodiscard]] std::uint64_t elements() const;
  void add(reference::TierSet tiers, std::uint64_t count = 1);
  void add(const TierCounts& other);

  bool operator==(const TierCounts&) const = default;
};

/// Wrong elements by how far they are from the reference's value. Bin 0 holds distances up to 1/2 (0 where
/// only bits differ), bin i those above 2^(i-2) and up to 2^(i-1); the last one also all that are larger.
struct ErrorHistogram {
  static constexpr std::size_t kBins = 34;

  std::array<std::uint64_t, kBins> low{};   ///< too low
  std::array<std::uint64_t, kBins> high{};  ///< too high, or of no distance
  std::uint64_t incomparable = 0;           ///< infinite, or NaN

  [[nodiscard]] std::uint64_t elements() const;
  /// `error`: got - right.
  void add(double error);
  void add(const ErrorHistogram& other);

  bool operator==(const ErrorHistogram&) const = default;
};

/// One element, for the reader.
struct ElementReport {
  QC_DESCRIBED(.name = "element", .is_base = true);
  QC_FIELD(std::vector<std::int64_t>, index, {}, "index");  ///< into the output, one value per dimension
  QC_FIELD(std::string, got, {}, "got");
  QC_FIELD(std::string, admissible, {}, "admissible", .doc = "The right values.");  ///< "{214}"
  QC_FIELD(std::string, exact, {}, "exact", .doc = "Value before rounding, as integer and fraction.",
           .presence = Presence::omitted);  ///< "214 + 3/8"
  /// |got - nearest admissible|; infinite where not comparable.
  QC_FIELD(double, distance, {}, "distance", .form = Form::distance);
  QC_FIELD(std::uint64_t, output, {}, "output", .doc = "Which of a graph's outputs, from 0 on.",
           .presence = Presence::omitted);

  bool operator==(const ElementReport&) const = default;
};

struct Verdict {
  QC_DESCRIBED();
  QC_FIELD(VerdictKind, kind, {VerdictKind::pass}, "kind");
  QC_FIELD(std::string, detail, {}, "detail");  ///< refusal reason, shapes, signal: one line
  /// Rule id that the failure is about, if one is known; the relation's id where answers are inconsistent.
  QC_FIELD(std::string, rule, {}, "rule");
  QC_FIELD(std::string, log, {}, "log");  ///< text that the backend printed meanwhile, where that is known
  /// Tells failures of one kind apart: of a crash the signal and the function, of a refusal its message without what
  /// changes from case to case, of an answer that depends on an earlier node in what that node differs.
  QC_FIELD(std::string, place, {}, "place", .presence = Presence::omitted);
  QC_FIELD(std::uint64_t, elements, {}, "elements");  ///< elements judged
  QC_FIELD(std::uint64_t, wrong_elements, {}, "wrong");
  QC_FIELD(TierCounts, tiers, {}, "tiers");  ///< empty for operators without tiers
  ErrorHistogram errors;                     ///< how far wrong elements are off; journals do not keep it
  QC_FIELD(std::optional<ElementReport>, worst, {}, "worst");  ///< the wrong element farthest from the admissible set

  bool operator==(const Verdict&) const = default;
};

/// The kind with that name ("not-rejected"), or nullopt.
[[nodiscard]] std::optional<VerdictKind> verdict_named(std::string_view name);

// Single cases of a run, with the verdicts of all backends.

struct CaseResult {
  struct OfBackend {
    VerdictKind verdict = VerdictKind::pass;
    std::optional<reference::Tier> tier;  ///< the strictest that every element meets, where there are tiers
    std::uint64_t wrong_elements = 0;     ///< 0 where it does not fail
    std::string finding{};                ///< finding that has the case: "F1"; empty where it does not fail
    std::string reason{};                 ///< may be stated where has_reason(verdict)

    bool operator==(const OfBackend&) const = default;
  };

  std::string suite;
  std::string id;
  std::string op_type;
  std::string summary;              ///< shapes and attributes, for the reader
  std::vector<OfBackend> backends;  ///< in the order of the report's

  bool operator==(const CaseResult&) const = default;
};

/// A bounded part of a run's cases, in their order.
struct CaseResults {
  std::vector<CaseResult> rows;
  std::uint64_t cases = 0;    ///< cases of the run, those of `rows` included
  std::uint64_t failing = 0;  ///< cases of the run that fail on some backend

  bool operator==(const CaseResults&) const = default;
};

}  // namespace qconform
