// Backends that assume valid nodes.
#pragma once

#include <memory>
#include <string_view>

#include "harness/core/backend.h"

namespace qconform::backend {

/// Behind a backend's name: what is out of contract is not sent to it.
inline constexpr std::string_view kValidOnly = "@valid-only";

/// The same backend, whose info says so: a run leaves it out of cases that must be refused. A kernel inside a library
/// may rely on its caller for that, and its answers to them mean nothing.
[[nodiscard]] std::unique_ptr<Backend> valid_only(std::unique_ptr<Backend> inner);

}  // namespace qconform::backend
