// The third-party libraries that qconform has adapters for (docs/backends.md).
#pragma once

#include <span>
#include <string_view>

#include "harness/backends/library.h"

namespace qconform::libraries {

/// All libraries, those that this build lacks too: their state says why.
[[nodiscard]] std::span<const backend::Library> libraries();

/// The root that this program was built for; empty for qconform itself.
[[nodiscard]] std::string_view own_root();

/// ONNX Runtime for whole models; of a build without it too: it says why it is absent.
[[nodiscard]] ModelRuntime model_runtime();

}  // namespace qconform::libraries
