// Backends that assume valid nodes.
#pragma once

#include <memory>
#include <string>

#include "harness/core/backend.h"

namespace qconform::backend {

/// The same backend by another name, whose info says so: a run leaves it out of cases that must be refused. A kernel
/// inside a library may rely on its caller for that, and its answers to them mean nothing.
[[nodiscard]] std::unique_ptr<Backend> valid_only(std::unique_ptr<Backend> inner, std::string name);

}  // namespace qconform::backend
