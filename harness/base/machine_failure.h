// Failures of the machine, for which no backend is to blame.
#pragma once

#include <stdexcept>
#include <string>

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

}  // namespace qconform
