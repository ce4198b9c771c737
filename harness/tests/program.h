// Runs programs of the build and catches what they print. The paths of qconform, and of the one with planted kernels,
// are definitions of the test's target.
#pragma once

#include <string>

namespace qconform::testing {

struct ProgramResult {
  int exit_code = -1;  ///< -1 when it ended by a signal
  std::string output;  ///< stdout and stderr together
};

/// Runs `program` of the build with arguments as the shell splits them, under the emulator when the
/// tests themselves are cross-compiled. `environment` is put in front: "NAME=value NAME=value".
[[nodiscard]] ProgramResult run_program(const std::string& program, const std::string& arguments,
                                        const std::string& environment = {});

/// Runs the program on a terminal of `columns` columns: lines end with "\r\n" there.
[[nodiscard]] ProgramResult run_in_terminal(const std::string& program, const std::string& arguments, int columns,
                                            const std::string& environment = {});

/// `qconform` with these arguments.
inline ProgramResult qconform(const std::string& arguments, const std::string& environment = {}) {
  return run_program(QCONFORM_PROGRAM, arguments, environment);
}

/// Runs qconform with planted_kernels.h in place of the real kernels.
inline ProgramResult planted(const std::string& arguments) {
  return run_program(QCONFORM_PLANTED_PROGRAM, arguments);
}

}  // namespace qconform::testing
