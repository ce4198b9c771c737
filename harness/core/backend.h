// A backend: an implementation under test, where it finds its inputs and where it puts its outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/fields.h"
#include "harness/core/tensor.h"
#include "harness/core/verdict.h"

namespace qconform {

struct Classification;  // harness/model/operator.h

/// Asked while a case is prepared, from one thread; what it gave stays until the case is done with. In a worker
/// it lies between guards (harness/backends/sandbox), and only what was asked for: a backend should ask for all that
/// the implementation reads.
class InputMemory {
 public:
  /// Writes a tensor in another form.
  using Fill = std::function<void(const Tensor& input, std::span<std::byte> to)>;

  InputMemory() = default;
  InputMemory(const InputMemory&) = delete;
  InputMemory& operator=(const InputMemory&) = delete;
  virtual ~InputMemory() = default;

  /// The bytes of input `position`, which the case has, aligned to its elements at least.
  [[nodiscard]] virtual std::span<std::byte> bytes(std::size_t position) = 0;

  /// Input `position` in a form that the implementation takes instead (another layout, say): `size` bytes,
  /// which `fill` writes; of a backend that takes other inputs, again with each of these, so that what it holds lives
  /// as long as the preparation. `room`: how many bytes behind them the implementation is documented to read, at most
  /// 64.
  [[nodiscard]] virtual std::span<std::byte> converted(std::size_t position, std::size_t size, std::size_t room,
                                                       const Fill& fill) = 0;
};

/// The position of the channels of a tensor. A Case has them first, as ONNX does; some implementations want them last.
enum class Layout : std::uint8_t {
  channels_first,  ///< [N, C, spatial...]: "nchw"
  channels_last,   ///< [N, spatial..., C]: "nhwc"
};

/// "nchw" or "nhwc", whatever the number of spatial dimensions.
[[nodiscard]] constexpr std::string_view name_of(Layout layout) {
  return layout == Layout::channels_first ? "nchw" : "nhwc";
}
[[nodiscard]] constexpr std::optional<Layout> layout_named(std::string_view name) {
  for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
    if (name == name_of(layout)) return layout;
  }
  return std::nullopt;
}

/// Receives the outputs of a backend. A backend states an output's type and shape when it asks for memory, and the
/// judge checks them too. The memory lies beside a guard, and holds a pattern at first.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// Memory for bytes_for(type, elements) bytes of output number `output`, valid until the next case. Called once for
  /// each of Case::output_count() outputs and run.
  virtual std::span<std::byte> allocate(std::size_t output, ElementType type, std::span<const std::int64_t> shape) = 0;
  /// Allocates the output of a case of one output.
  std::span<std::byte> allocate(ElementType type, std::span<const std::int64_t> shape) {
    return allocate(0, type, shape);
  }
  /// Refuses in place of outputs: Unsupported or Rejected, where only the run shows that.
  virtual void refuse(Outcome refusal) = 0;
  /// Memory for the run's own use, of any content, gone with the next call. `alignment`: a power of two up to
  /// kScratchAlignment.
  static constexpr std::size_t kScratchAlignment = 512;
  virtual std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) = 0;
};

/// Gives a sink what a run elsewhere produced.
void copy_outputs(const outcome::Produced& produced, OutputSink& sink);

/// A case with its weights packed. The case must outlive it.
class PreparedCase {
 public:
  PreparedCase() = default;
  PreparedCase(const PreparedCase&) = delete;
  PreparedCase& operator=(const PreparedCase&) = delete;
  virtual ~PreparedCase() = default;
  virtual void run(OutputSink& sink) = 0;
};

struct BackendInfo {
  QC_DESCRIBED();
  QC_FIELD(std::string, name, {}, "name");        ///< short, and of this one alone in a report: "avx2", "libmine.so"
  QC_FIELD(std::string, version, {}, "version");  ///< version of the implementation; in-tree kernels have qconform's
  QC_FIELD(std::string, kind, {}, "kind");        ///< "in-tree", "plugin", "library", ...
  /// Whether one prepared case may be run from several threads at once.
  bool concurrent = false;
  /// Whether one prepared case can run on other inputs, which replace the first ones in the same memory.
  bool takes_other_inputs = false;
  /// qconform sends it no cases out of contract (valid_only() of harness/backends/kinds.h).
  QC_FIELD(
      bool, valid_only, {}, "valid_only",
      .doc = "It assumes valid nodes: cases out of contract were not sent to it, and refusing them was not judged.",
      .presence = Presence::omitted);
  QC_FIELD(std::string, specification, {}, "specification",
           .doc = "The backend as the command line names it, where `name` is an alias or short for that.",
           .presence = Presence::omitted);
  QC_FIELD(std::vector<std::string>, siblings, {}, "siblings",
           .doc =
               "Other settings, forms or releases of the same library: valid cases that it refuses were run on these, "
               "and what one of them computes right is refused-here.",
           .presence = Presence::omitted);
  QC_FIELD(std::vector<std::string>, capabilities, {}, "capabilities",
           .doc =
               "What a plugin or process says of itself: assumes-valid, channels-last, needs-channels-last, units, "
               "same-inputs, plans; switch:KEY=VALUE for an argument that switches off a part which may be wrong.",
           .presence = Presence::omitted);
  QC_FIELD(std::vector<std::string>, pinned, {}, "pinned",
           .doc =
               "What qconform sets so that answers do not depend on the processor or the machine, as NAME=VALUE: "
               "threads=1, precision=float32, subnormals=kept.",
           .presence = Presence::omitted);
  QC_FIELD(std::vector<std::string>, not_offered, {}, "not_offered",
           .doc =
               "What qconform's adapter does not hand on right, by its self-check: cases with it are declined. Each is "
               "what, and how the self-check saw it.",
           .presence = Presence::omitted);

  /// The text that opens the backend again on the command line.
  [[nodiscard]] const std::string& on_command_line() const { return specification.empty() ? name : specification; }

  bool operator==(const BackendInfo&) const = default;
};

/// How a worker runs a case.
enum class RunMode : std::uint8_t {
  once,
  closely,     ///< from all sides (harness/backends/sandbox/guarded_run.h)
  repeatedly,  ///< often, to see whether memory grows: the outcome is GrewMemory where it does
};

/// A backend that lives in a worker process, seen from outside.
class Worker {
 public:
  virtual ~Worker() = default;
  /// How many cases may be started and not finished.
  [[nodiscard]] virtual std::size_t depth() const { return 1; }
  /// Starts a case and returns at once; the caller keeps the case unchanged until it is finished. Each start needs one
  /// finish.
  virtual void start(const Case& test_case) = 0;
  /// Waits for the outcome of the oldest started case.
  [[nodiscard]] virtual Outcome finish() = 0;
  /// Gives up the `count` started cases: do not finish them.
  virtual void abandon(std::size_t count) {
    for (; count > 0; --count) (void)finish();
  }
  /// Runs a case alone and looks as closely as it can. Others may be under way.
  [[nodiscard]] virtual Outcome examine(const Case& test_case) {
    start(test_case);
    return finish();
  }
  /// Runs a case alone, as often as its answer needs and no more: for who asks whether it is taken. Others may be under
  /// way.
  [[nodiscard]] virtual Outcome ask(const Case& test_case) { return examine(test_case); }
  /// Runs cases in a process that runs no others, in their order: all but the last once, the last as `mode` says.
  /// Returns the outcome of the last; nothing where one before it ended the process, or no process can be had. Others
  /// may be under way elsewhere.
  [[nodiscard]] virtual std::optional<Outcome> run_apart(std::span<const Case* const> /*cases*/, RunMode /*mode*/) {
    return std::nullopt;
  }
  /// Whether a process of its own costs milliseconds; an emulated machine costs seconds.
  [[nodiscard]] virtual bool starts_fast() const { return true; }
  /// Bytes that its process holds beyond what it held when it was opened.
  [[nodiscard]] virtual std::int64_t memory_held() { return 0; }
  /// The cases that its process had run when it first ran this one, the oldest first, as far as they are kept.
  [[nodiscard]] virtual std::vector<Case> run_before(const Case& /*test_case*/) { return {}; }
  /// Notes that answers depend on earlier nodes: from now on examine() runs each case in a process of its own.
  virtual void note_that_it_remembers() {}
  /// Makes the next case the first of its process, where none is under way.
  virtual void begin_anew() {}
};

/// The result of prepare: ready to run, a clean refusal, or an answer that the interface does not define.
using Preparation =
    std::variant<std::unique_ptr<PreparedCase>, outcome::Unsupported, outcome::Rejected, outcome::BrokenInterface>;

/// The outcome of a preparation that did not become ready, moved out of it. `Ready`: PreparedCase or RepeatedRun.
template <typename Ready>
[[nodiscard]] std::optional<Outcome> end_of(std::variant<std::unique_ptr<Ready>, outcome::Unsupported,
                                                         outcome::Rejected, outcome::BrokenInterface>& preparation) {
  return std::visit(
      [](auto& result) -> std::optional<Outcome> {
        if constexpr (std::is_same_v<std::decay_t<decltype(result)>, std::unique_ptr<Ready>>) {
          return std::nullopt;
        } else {
          return std::move(result);
        }
      },
      preparation);
}

/// How a case is to be run where speed counts.
struct RunSetting {
  Layout layout = Layout::channels_first;  ///< layout of x and y
  int threads = 1;
};

/// A case set up to be run again and again, on tensors that lie where the implementation wants them.
class RepeatedRun {
 public:
  RepeatedRun() = default;
  RepeatedRun(const RepeatedRun&) = delete;
  RepeatedRun& operator=(const RepeatedRun&) = delete;
  virtual ~RepeatedRun() = default;

  /// The computation from x to y and nothing else: what a model in use would spend on the node.
  virtual void run() = 0;
  /// The outcome of the last run. The output has its channels first, as a Case does.
  [[nodiscard]] virtual Outcome outcome() = 0;
  /// The setting in use, which may lack what was asked for.
  [[nodiscard]] virtual RunSetting setting() const = 0;
  /// The name of the code that computes, as the implementation gives it: "brgconv:avx512_core_vnni". Empty where it
  /// gives none.
  [[nodiscard]] virtual std::string implementation() const { return {}; }
};

using RepeatedPreparation =
    std::variant<std::unique_ptr<RepeatedRun>, outcome::Unsupported, outcome::Rejected, outcome::BrokenInterface>;

class CodeCoverage;

/// A setting that switches off a part of a backend which may be wrong.
struct Switch {
  std::string_view key;
  std::string_view value;
  bool is_listed = false;    ///< values of the key are names: those of several switches stand behind it, with ; between
  bool is_part = is_listed;  ///< one part, known by its name; others switch off whatever an option of the session rules
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual const BackendInfo& info() const = 0;
  /// The graph that the backend computes in the place of a case of several nodes, when it has folded, fused and moved
  /// what it likes; nothing where it does not tell. Not of a backend in a worker.
  [[nodiscard]] virtual std::optional<CaseGraph> rewritten(const Case& /*test_case*/) { return std::nullopt; }
  /// Takes any case, malformed ones too. Weights are packed here.
  [[nodiscard]] virtual Preparation prepare(const Case& test_case) = 0;
  /// Prepares a case with its classification, for a backend of this process that would classify it again.
  [[nodiscard]] virtual Preparation prepare_classified(const Case& test_case,
                                                       const Classification& /*classification*/) {
    return prepare(test_case);
  }
  /// Prepares the case for a backend that can take its inputs from other memory than the case's tensors. The case and
  /// `inputs` outlive the prepared node.
  [[nodiscard]] virtual Preparation prepare_at(const Case& test_case, InputMemory& /*inputs*/) {
    return prepare(test_case);
  }
  /// Prepares the case for benchmarks. A backend that lacks the layout or the threads asked for sets the case up with
  /// what it has. nullopt for one that does not tell its run apart from what is done around it.
  [[nodiscard]] virtual std::optional<RepeatedPreparation> prepare_repeated(const Case& /*test_case*/,
                                                                            const RunSetting& /*wanted*/) {
    return std::nullopt;
  }
  /// Other settings, forms or releases of the same library, which are asked where this one refuses a valid case:
  /// what one of them computes right, this one may not refuse. Opened at the first call.
  [[nodiscard]] virtual std::span<const std::unique_ptr<Backend>> siblings() { return {}; }
  /// The parts that experiments switch off one by one.
  [[nodiscard]] virtual std::span<const Switch> switches() const { return {}; }
  /// Opens the same backend with these of its parts off, in workers of its own where this one has some, under the same
  /// limits; null where it does not open, or is of a kind without settings. One that `shows_graphs` computes nothing:
  /// it has rewritten() alone.
  [[nodiscard]] virtual std::unique_ptr<Backend> without(std::span<const Switch> /*off*/, bool /*shows_graphs*/) {
    return nullptr;
  }
  /// The worker that cases run in; null for a backend of this process.
  [[nodiscard]] virtual Worker* worker() { return nullptr; }
  /// The backend's code that has run (harness/backends/code_coverage); null where that code is not instrumented.
  [[nodiscard]] virtual CodeCoverage* code_coverage() { return nullptr; }
};

}  // namespace qconform
