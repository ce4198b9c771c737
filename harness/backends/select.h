// Opens the backend that a name on the command line means.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/library.h"
#include "harness/backends/sandbox/sandbox.h"
#include "harness/backends/specification.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"
#include "harness/core/profile.h"

namespace qconform::backend {

/// The backends that run in worker processes, and the limits on what they may take there.
struct SandboxPolicy {
  enum class Which : std::uint8_t { third_party, all, none };
  Which which = Which::third_party;
  bool confined = false;  ///< workers of what is not ours run in namespaces of their own (worker_command.h)
  SandboxLimits limits;
  int threads = 0;                 ///< how many threads run each case at once (threads_checked()); 0 for none
  std::string arm64_program = {};  ///< an arm64 build of qconform, for arm64 processors (worker_command.h)
  bool shows_graphs = false;       ///< workers show Backend::rewritten() of what they serve, and compute nothing
  bool trusts_adapters = false;    ///< another setting of the library has passed its adapter's check (self_checked())
};

/// A kernel set of this program, the interpreter of graphs, a library of library.h, a library with the interface of
/// harness/include/qconform/backend.h, a program that open_process() talks to, or a defect model. The WORD of kernel
/// sets and defect models pins the requantization (correctly-rounded, ort-f32, onnx-reference), which otherwise is
/// `arithmetic`. Any of these is not sent cases out of contract where `what` says so (valid_only()). On another
/// processor (worker_command.h), or in a program of its own (library.h), it always runs in a worker. Errors, all of
/// field
/// "--backend": unknown names, words and keys, absent libraries and versions, sets that this CPU does not run.
///
/// With `sandbox.threads`, a backend that cannot run a case from several threads is an error.
///
/// Backends that are not ours run in workers, unless `sandbox` says otherwise (harness/backends/sandbox/sandbox.h).
[[nodiscard]] Result<std::unique_ptr<Backend>> select(const Specification& what, RoundingProfile arithmetic,
                                                      const SandboxPolicy& sandbox = {});
/// Opens the backend of that text. A library has its plain setting as sibling (Backend::siblings()), the first level,
/// where another is named.
[[nodiscard]] Result<std::unique_ptr<Backend>> select(std::string_view name, RoundingProfile arithmetic,
                                                      const SandboxPolicy& sandbox = {});

/// The command by which a program of its own serves the backend, a release that this process cannot load; it goes on
/// with options of `qconform worker`. Empty for backends that select() opens here, or on another processor. Errors: as
/// those of select().
[[nodiscard]] Result<std::vector<std::string>> program_of(std::string_view name, RoundingProfile arithmetic);

/// Returns the names of the backend at its other levels (Library::levels); none where it has no levels, or its word is
/// none of them.
[[nodiscard]] std::vector<std::string> siblings_of(const std::string& name);

/// Returns the switches of the library that the text names, at a level but its first where it has levels; none of
/// anything else.
[[nodiscard]] std::span<const Switch> switches_of(const std::string& name);
/// Returns the text of the same backend with these parts switched off. `name` is a backend that has switches.
[[nodiscard]] std::string with_switches(const std::string& name, std::span<const Switch> off);

/// Opens all backends of these names, or returns the first error. Backends of one library are siblings of each other,
/// but for those on other processors and of another of its interfaces (Library::interfaces).
[[nodiscard]] Result<std::vector<std::unique_ptr<Backend>>> select_all(const std::vector<std::string>& names,
                                                                       RoundingProfile arithmetic,
                                                                       const SandboxPolicy& sandbox = {});

/// Each backend on each processor: "avx2" and "native", "Haswell" give "avx2", "avx2[Haswell]". With `valid_only`, each
/// is sent valid cases alone. A range of versions is the releases that are here: "onnxruntime:1.14..1.30" gives
/// onnxruntime:1.14.0, onnxruntime:1.16.3 and so on, the oldest first; both ends count, and all that begin with them.
/// Errors: a name that is none; a processor of a process, or beside another one; a range in which nothing is here, or
/// of a backend that has one version.
[[nodiscard]] Result<std::vector<std::string>> whole_names(const std::vector<std::string>& backends,
                                                           const std::vector<std::string>& cpus,
                                                           bool valid_only = false);

/// The settings that may stand behind the @ of kernel sets and defect models.
[[nodiscard]] Accepted accepted_arithmetics();

/// Whether the text names an in-tree kernel set, on any processor. They take single nodes and no graphs.
[[nodiscard]] bool is_kernel_set(std::string_view name);
/// The names of the in-tree kernel sets that this CPU runs, the scalar reference first.
[[nodiscard]] std::vector<std::string> available_kernels();
/// The backends of `run` without --backend: available_kernels(), and the offered libraries that are installed, programs
/// aside.
[[nodiscard]] std::vector<std::string> default_backends();
/// The names of kernel sets that are compiled in but need instructions that this CPU lacks.
[[nodiscard]] std::vector<std::string> unavailable_kernels();

}  // namespace qconform::backend
