// Shared libraries with the C interface of harness/include/qconform/backend.h as backends.
#pragma once

#include <memory>

#include "harness/backends/specification.h"
#include "harness/core/backend.h"
#include "harness/core/error.h"

namespace qconform::backend {

/// Loads the library into this process, which it may bring down: open_in_sandbox() is where that is contained.
/// Its path is what.name. Errors: a file that cannot be loaded, that exports no qconform_backend, or that speaks
/// another version of the interface.
[[nodiscard]] Result<std::unique_ptr<Backend>> load_plugin(const Specification& what);

}  // namespace qconform::backend
