// Failures of the machine, for which no backend is to blame, and what was thrown.
#pragma once

#include <cxxabi.h>
#include <stdexcept>
#include <string>

#include "harness/base/error.h"

namespace qconform {

/// Returns the message of `error`, a value of errno, and the limit of this process behind it, if there is one: "Too
/// many open files (the limit is 256: ulimit -n)".
[[nodiscard]] std::string machine_reason(int error);

/// The machine has no more of something: processes, files, memory. Whoever runs cases stops with its message, and
/// keeps what has been done: it is no outcome of a case.
class MachineFailure final : public std::runtime_error {
 public:
  /// `error` is a value of errno.
  MachineFailure(const std::string& what, int error) : std::runtime_error(what + ": " + machine_reason(error)) {}
};

// Exceptions of code that is not qconform's.

/// Inside of a handler, or in a terminate handler that was called for an exception: what was thrown, as
/// "std::runtime_error: no kernel", "int: 7" or "an exception that is not C++'s". Ends where it gets long.
[[nodiscard]] std::string thrown_text();

/// Returns the Result of `open`, or an error of `field` where `open` throws.
template <typename Open>
[[nodiscard]] auto opened_without_throwing(const char* field, const Open& open) -> decltype(open()) {
  try {
    return open();
  } catch (const MachineFailure&) {
    throw;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return fail(field, "threw while it was opened: " + thrown_text());
  }
}

}  // namespace qconform
