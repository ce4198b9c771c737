// The third-party libraries that qconform has adapters for (docs/backends.md).
#pragma once

#include <span>

#include "harness/backend/library.h"

namespace qconform::libraries {

/// Those that this build lacks too: their state says why.
[[nodiscard]] std::span<const backend::Library> libraries();

}  // namespace qconform::libraries
