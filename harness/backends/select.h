// From a name on the command line to a backend.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/sandbox/isolate.h"
#include "harness/core/backend.h"
#include "harness/core/error.h"
#include "harness/core/profile.h"

namespace qconform::backend {

/// Which backends run in worker processes, and what they may take there.
struct IsolationPolicy {
  enum class Which : std::uint8_t { third_party, all, none };
  Which which = Which::third_party;
  Isolation limits;
  int threads = 0;                 ///< that run each case at once, to compare (threads_check.h); 0 for none
  std::string arm64_program = {};  ///< for processors of that kind (emulator.h)
};

/// `NAME` or, for in-tree kernel sets, `NAME@ARITHMETIC` (correctly-rounded, ort-f32,
/// onnx-reference) to pin the requantization, which otherwise is `arithmetic`; or `defect:ID[+ID...]`, a
/// defect model; or a library of library.h, `NAME` or `NAME@VARIANT`; or `plugin:PATH`, a library with the
/// interface of harness/include/qconform/backend.h; or `process:COMMAND`, a program that process.h talks to.
/// Any of these with `@valid-only` behind it is not sent cases out of contract (valid_only.h).
/// `NAME[CPU]` is the same on another processor (emulator.h), always in a worker.
/// Unknown names, absent libraries and sets that this CPU does not run are errors.
///
/// With `isolation.threads`, a backend that cannot run a case from several threads is an error.
///
/// Backends that are not ours run in workers, unless `isolation` says otherwise (harness/backends/sandbox/isolate.h).
[[nodiscard]] Result<std::unique_ptr<Backend>> select(std::string_view name, RoundingProfile arithmetic,
                                                      const IsolationPolicy& isolation = {});

/// All of them, or the first error.
[[nodiscard]] Result<std::vector<std::unique_ptr<Backend>>> select_all(const std::vector<std::string>& names,
                                                                       RoundingProfile arithmetic,
                                                                       const IsolationPolicy& isolation = {});

/// Each backend on each processor: "avx2" and "native", "Haswell" give "avx2", "avx2[Haswell]".
[[nodiscard]] std::vector<std::string> on_cpus(const std::vector<std::string>& backends,
                                               const std::vector<std::string>& cpus);

/// The names of the in-tree kernel sets that this CPU runs, the scalar reference first.
[[nodiscard]] std::vector<std::string> available_kernels();
/// What is judged where nobody says: those, and the offered libraries that are here.
[[nodiscard]] std::vector<std::string> default_backends();
/// Compiled in, but this CPU lacks the instructions.
[[nodiscard]] std::vector<std::string> unavailable_kernels();

}  // namespace qconform::backend
