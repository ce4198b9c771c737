// What no backend is to blame for.
#pragma once

#include <stdexcept>
#include <string>

namespace qconform {

/// What the error says, as errno has it, and the limit that it stands for, if the process has one: "Too many open files
/// (the limit is 256: ulimit -n)".
[[nodiscard]] std::string machine_reason(int error);

/// The machine has no more of something: processes, files, memory. Whoever runs cases stops with its message, and
/// keeps what has been done: it is no outcome of a case.
class MachineFailure final : public std::runtime_error {
 public:
  /// `error`: as errno has it.
  MachineFailure(const std::string& what, int error) : std::runtime_error(what + ": " + machine_reason(error)) {}
};

}  // namespace qconform
