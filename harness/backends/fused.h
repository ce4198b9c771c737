// Shows how a backend that a program of its own serves rewrites graphs: the graph crosses as the bytes of an output.
#pragma once

#include <memory>

#include "harness/core/backend.h"

namespace qconform::backend {

/// In the program: prepare() takes a case for which `inner` shows what it computes, and its output is that graph.
[[nodiscard]] std::unique_ptr<Backend> rewriting_told(std::unique_ptr<Backend> inner);

/// On the other side: `inner` reaches such a program; rewritten() asks it. Nothing else does.
[[nodiscard]] std::unique_ptr<Backend> rewriting_asked(std::unique_ptr<Backend> inner);

}  // namespace qconform::backend
