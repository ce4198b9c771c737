// Programs for releases of libraries that cannot share a process with qconform: each has another C library.
#pragma once

#include <string>
#include <vector>

#include "harness/backends/specification.h"
#include "harness/base/error.h"

namespace qconform::libraries {

/// The program worker-NAME-VERSION beside this one, which qconform_release_worker of cmake/QconformLibraries.cmake
/// makes for the root that `what` asks for. Errors: no such root; no program, or one of another root, with the command
/// that makes it; a root without which the program does not start, with the command that fetches it again.
[[nodiscard]] Result<std::vector<std::string>> worker_program(const backend::Specification& what);

}  // namespace qconform::libraries
