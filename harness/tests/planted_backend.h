// Backends that compute with kernels that are broken on purpose.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/backends/kinds.h"
#include "harness/tests/planted_kernels.h"

namespace qconform::testing {

/// Returns a backend of planted_kernel_set(name), correctly rounded and named as the set.
[[nodiscard]] inline std::unique_ptr<Backend> planted_backend(std::string_view name) {
  return backend::in_tree(planted_kernel_set(name), RoundingProfile::correctly_rounded, std::string(name));
}

}  // namespace qconform::testing
