// A backend: an implementation under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "harness/base/aligned_bytes.h"
#include "harness/core/case.h"
#include "harness/core/input_memory.h"
#include "harness/core/layout.h"
#include "harness/core/outcome.h"
#include "harness/describe/fields.h"

namespace qconform {

/// Receives the outputs of a backend. A backend states an output's type and shape when it asks for memory, and the
/// judge checks them too. The memory lies beside a guard, and holds a pattern at first.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// Memory for bytes_for(type, elements) bytes of output number `output`, valid until the next case. Called once for
  /// each of Case::output_count() outputs and run.
  virtual std::span<std::byte> allocate(std::size_t output, ElementType type, std::span<const std::int64_t> shape) = 0;
  /// For a case of one output.
  std::span<std::byte> allocate(ElementType type, std::span<const std::int64_t> shape) {
    return allocate(0, type, shape);
  }
  /// Refuses in place of outputs: Unsupported or Rejected, where only the run shows that.
  virtual void refuse(Outcome refusal) = 0;
  /// Memory for the run's own use, of any content, gone with the next call. `alignment`: a power of two up to
  /// kScratchAlignment.
  static constexpr std::size_t kScratchAlignment = 512;
  virtual std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) {
    std::size_t room = bytes + alignment;
    void* start = scratch_.emplace(room).bytes().data();
    return {static_cast<std::byte*>(std::align(alignment, bytes, start, room)), bytes};
  }

 private:
  std::optional<AlignedBytes> scratch_;
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
  QC_FIELD(std::string, name, {}, "name");        ///< as on the command line: "avx2", "plugin:libmine.so"
  QC_FIELD(std::string, version, {}, "version");  ///< of the implementation; in-tree kernels have qconform's
  QC_FIELD(std::string, kind, {}, "kind");        ///< "in-tree", "plugin", "library", ...
  /// Whether one prepared case may be run from several threads at once.
  bool concurrent = false;
  /// Whether one prepared case can run on other inputs, which replace the first ones in the same memory.
  bool takes_other_inputs = false;
  /// qconform sends it no cases out of contract (harness/backends/valid_only.h).
  QC_FIELD(
      bool, valid_only, {}, "valid_only",
      .doc = "It assumes valid nodes: cases out of contract were not sent to it, and refusing them was not judged.",
      .presence = Presence::omitted);
  QC_FIELD(std::vector<std::string>, capabilities, {}, "capabilities",
           .doc = "What a plugin or process says of itself: assumes-valid, channels-last, units, same-inputs, plans.",
           .presence = Presence::omitted);

  bool operator==(const BackendInfo&) const = default;
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
};

/// The result of prepare: ready to run, or a clean refusal.
using Preparation = std::variant<std::unique_ptr<PreparedCase>, outcome::Unsupported, outcome::Rejected>;

/// How a case is to be run where speed counts.
struct RunSetting {
  Layout layout = Layout::channels_first;  ///< of x and y
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
};

using RepeatedPreparation = std::variant<std::unique_ptr<RepeatedRun>, outcome::Unsupported, outcome::Rejected>;

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual const BackendInfo& info() const = 0;
  /// Takes any case, malformed ones too. Weights are packed here.
  [[nodiscard]] virtual Preparation prepare(const Case& test_case) = 0;
  /// The same for a backend that can take its inputs from other memory than the case's tensors. Both
  /// outlive what is prepared.
  [[nodiscard]] virtual Preparation prepare_at(const Case& test_case, InputMemory& /*inputs*/) {
    return prepare(test_case);
  }
  /// For benchmarks. A backend that lacks the layout or the threads asked for sets the case up with what
  /// it has. nullopt for one that does not tell its run apart from what is done around it.
  [[nodiscard]] virtual std::optional<RepeatedPreparation> prepare_repeated(const Case& /*test_case*/,
                                                                            const RunSetting& /*wanted*/) {
    return std::nullopt;
  }
  /// The worker that cases run in; null for a backend of this process.
  [[nodiscard]] virtual Worker* worker() { return nullptr; }
};

}  // namespace qconform
