// oneDNN 3's graph interface as a backend: graphs of several nodes, which the library cuts into partitions.
#pragma once

#include <dnnl.hpp>
#include <memory>

#include "harness/core/backend.h"

namespace qconform::libraries::dnn {

inline constexpr bool kHasGraphs = DNNL_VERSION_MAJOR >= 3;

/// `fuses`: partitions as the library likes them; otherwise one for each operation. Throws dnnl::error. Of version 3.
[[nodiscard]] std::unique_ptr<Backend> graph_backend(BackendInfo info, bool fuses);

}  // namespace qconform::libraries::dnn
