// Backends that take their inputs from any memory, on those of the case.
#pragma once

#include "harness/core/backend.h"

namespace qconform {

/// prepare() of a backend that has prepare_at(): on the case's own tensors and ordinary memory.
[[nodiscard]] Preparation prepare_on_own_tensors(Backend& backend, const Case& test_case);

}  // namespace qconform
