// Runs programs of the build and catches what they print: arguments as the shell splits them, under the emulator when
// the tests themselves are cross-compiled. `environment` is put in front: "NAME=value NAME=value".
#pragma once

#include <string>

namespace qconform::testing {

struct ProgramResult {
  int exit_code = -1;  ///< -1 when it ended by a signal
  std::string output;  ///< stdout and stderr together
};

/// `qconform` with these arguments.
[[nodiscard]] ProgramResult qconform(const std::string& arguments, const std::string& environment = {});

/// Runs qconform on a terminal of `columns` columns: lines end with "\r\n" there.
[[nodiscard]] ProgramResult qconform_in_terminal(const std::string& arguments, int columns,
                                                 const std::string& environment = {});

/// Runs qconform with planted_kernels.h in place of the real kernels.
[[nodiscard]] ProgramResult planted(const std::string& arguments);

}  // namespace qconform::testing
