// XNNPACK's subgraph interface as a backend: quantized units, each as one node of a subgraph.
#pragma once

#include <memory>

#include "harness/core/backend.h"

namespace qconform::libraries::xnn {

/// The library is initialized.
[[nodiscard]] std::unique_ptr<Backend> subgraph_backend(BackendInfo info);

}  // namespace qconform::libraries::xnn
