// The kinds of backends and the wrappers around them, one function for each; and the check of their adapters.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/sandbox/sandbox.h"
#include "harness/backends/specification.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"
#include "harness/core/profile.h"
#include "harness/model/defects/defect.h"
#include "reference/kernels/kernels.h"

namespace qconform::backend {

/// A kernel set under one requantization arithmetic. Refuses what is out of contract, and odd scales
/// for which any value would do (rule C21).
[[nodiscard]] std::unique_ptr<Backend> in_tree(const reference::KernelSet& kernels, RoundingProfile profile,
                                               std::string name);

/// Refuses what is out of contract, and odd scales for which any value would do (rule C21); operators in
/// which the model's defects do not show are computed right. A case for which the model's geometry has no
/// output is unsupported, and so are the operators of a family without stages (Family::diagnosis.run).
[[nodiscard]] std::unique_ptr<Backend> defect_model(diagnose::DefectModel model, std::string name);

/// The name of interpreter() on the command line.
inline constexpr std::string_view kInterpreter = "interpreter";

/// Computes graphs of several nodes as they are written (reference/graph/interpreter.h), in the order and arithmetic
/// that the settings name. Refuses what is out of contract, and scales by which any value is right (rule C21); cases of
/// one node and what lower_graph() does not judge are unsupported. Errors: unknown settings and values.
[[nodiscard]] Result<std::unique_ptr<Backend>> interpreter(const Specification& what);
/// The settings that may stand behind the @ of interpreter().
[[nodiscard]] Accepted accepted_by_interpreter();

/// The name of fused() on the command line.
inline constexpr std::string_view kFused = "fused";

/// Computes graphs as interpreter() does, but runs quantized units on a kernel set (reference/graph/interpreter.h). The
/// setting `kernels` names the set, else it is the last in the list that this CPU has; `float-bias` says which float
/// biases units take in. Errors also: a set that the CPU has not, and an unknown word for a bias.
[[nodiscard]] Result<std::unique_ptr<Backend>> fused(const Specification& what);
/// The settings that may stand behind the @ of fused().
[[nodiscard]] Accepted accepted_by_fused();

/// Loads the library into this process, which it may bring down: open_in_sandbox() is where that is contained.
/// Its path is what.name. Errors: a file that cannot be loaded, that exports no qconform_backend, or that speaks
/// another version of the interface.
[[nodiscard]] Result<std::unique_ptr<Backend>> load_plugin(const Specification& what);

/// A command that reads cases from stdin and writes answers to stdout, one process for many cases. A process
/// that ends, hangs, takes too much memory or answers what is no answer has done so for the case that was
/// under way, and is replaced. `name` is for BackendInfo. Errors: a command that does not say hello.
///
/// With `{}` in it, the command is run for each case, with the path of a backend-test folder in that place.
[[nodiscard]] Result<std::unique_ptr<Backend>> open_process(std::string_view command, const SandboxLimits& limits,
                                                            std::string name);
/// Opens a command without `{}` that runs a library, with that library's info, whatever the command says of its
/// version.
[[nodiscard]] Result<std::unique_ptr<Backend>> open_process(std::string_view command, const SandboxLimits& limits,
                                                            BackendInfo info);

// Wrappers: a backend around another one.

/// Returns `inner` under another name as a backend for valid cases only, as its info says: a run does not send it cases
/// that must be refused. A kernel inside a library may rely on its caller to refuse them, and its answers to them mean
/// nothing.
[[nodiscard]] std::unique_ptr<Backend> valid_only(std::unique_ptr<Backend> inner, std::string name);

/// Gives `inner` the name that reports use (short_name()), with `what` as BackendInfo::specification.
[[nodiscard]] std::unique_ptr<Backend> named(std::unique_ptr<Backend> inner, const Specification& what);

/// Begins an entry of BackendInfo::capabilities for each part that a plugin says can be off: "switch:relu-fusion=off".
inline constexpr std::string_view kSwitchCapability = "switch:";

/// Settings of the same library beside a backend's own.
struct OtherSettings {
  using Opened = Result<std::unique_ptr<Backend>>;
  std::vector<std::string> siblings;  ///< names for Backend::siblings(), opened when they are first asked for
  std::function<Opened(const std::string& name)> open_sibling;
  /// Backend::switches(); texts that live as long as the backend.
  std::vector<Switch> switches = {};
  std::function<Opened(const std::string& name, bool shows_graphs)> open_without = nullptr;  ///< Backend::without()
};

[[nodiscard]] std::unique_ptr<Backend> with_settings(std::unique_ptr<Backend> inner, OtherSettings others);

inline constexpr int kMostThreads = 64;

/// Wraps `inner` so that every run that gives an output is repeated kThreadRuns times in each of `threads` threads (2
/// to kMostThreads), which start together. Another output, or a refusal, in any of them is the outcome ThreadDependent;
/// one that a second run alone shows too is DependsOnEarlierRuns or Nondeterministic. `inner` must say that it is
/// concurrent.
[[nodiscard]] std::unique_ptr<Backend> threads_checked(std::unique_ptr<Backend> inner, int threads);

/// Runs in each thread: threads that all end before the next has begun would show nothing.
inline constexpr int kThreadRuns = 8;

// Shows how a backend that a program of its own serves rewrites graphs: the graph crosses as the bytes of an output.

/// In the program: prepare() takes a case for which `inner` shows what it computes, and its output is that graph.
[[nodiscard]] std::unique_ptr<Backend> rewriting_told(std::unique_ptr<Backend> inner);

/// On the other side: `inner` reaches such a program; rewritten() asks it. Nothing else does.
[[nodiscard]] std::unique_ptr<Backend> rewriting_asked(std::unique_ptr<Backend> inner);

// The check whether qconform hands cases on to a library and answers back right: each adapter of a library passes
// before what it says of the library is believed.
//
// The cases have answers that no library gets wrong by design (scales of 1, small integers), because the adapter is
// checked and not the library: the count of outputs, their order, types and shapes, and that every node is computed.
// An answer that differs in one of these is the adapter's fault. A wrong number is the library's: what it computes is
// judged as ever.

struct SelfCheckRow {
  enum class Kind : std::uint8_t {
    right,
    declined,
    adapter_fault,  ///< the subject is not offered
    library_fault,  ///< a wrong number, a crash: the subject is offered, and judged
  };
  std::string subject;  ///< the ability that is checked: "graphs", "several outputs", "element type int4"
  Kind kind = Kind::right;
  std::string detail;  ///< empty where it is right: "output 0 is float [2], expected uint8 [2]"
};

/// A row for each case of the check, in the order of their list. The backend has a worker, where it may crash.
[[nodiscard]] std::vector<SelfCheckRow> self_check(Backend& backend);

/// Checks the backend, which has a worker, and returns it where its adapter passes. Otherwise info().not_offered has
/// the subjects with a fault, and cases that they concern are declined.
[[nodiscard]] std::unique_ptr<Backend> self_checked(std::unique_ptr<Backend> inner);

}  // namespace qconform::backend
