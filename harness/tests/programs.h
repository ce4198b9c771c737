// The programs of the build that tests of the command line call. Their paths are definitions of the test's target.
#pragma once

#include <string>

#include "harness/tests/program.h"

namespace qconform::testing {

/// `qconform` with these arguments.
inline ProgramResult qconform(const std::string& arguments, const std::string& environment = {}) {
  return run_program(QCONFORM_PROGRAM, arguments, environment);
}

/// Runs qconform with planted_kernels.h in place of the real kernels.
inline ProgramResult planted(const std::string& arguments) {
  return run_program(QCONFORM_PLANTED_PROGRAM, arguments);
}

}  // namespace qconform::testing
