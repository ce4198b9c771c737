// Commands as backends: any program that speaks the protocol of docs/adding-a-backend.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/backends/sandbox/sandbox.h"
#include "harness/core/backend.h"
#include "harness/core/error.h"

namespace qconform::backend {

/// A command that reads cases from stdin and writes answers to stdout, one process for many cases. A process
/// that ends, hangs, takes too much memory or answers what is no answer has done so for the case that was
/// under way, and is replaced. `name` is for BackendInfo. Errors: a command that does not say hello.
///
/// With `{}` in it, the command is run for each case, with the path of a backend-test folder in that place.
[[nodiscard]] Result<std::unique_ptr<Backend>> open_process(std::string_view command, const SandboxLimits& limits,
                                                            std::string name);

}  // namespace qconform::backend
