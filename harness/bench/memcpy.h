// memcpy as a participant: what moving that many bytes costs on the machine, at the time.
#pragma once

#include <memory>

#include "harness/core/backend.h"

namespace qconform::bench {

/// Its run copies as many bytes as the larger of x and y has. It computes nothing, so there is nothing of it
/// to be judged.
[[nodiscard]] std::unique_ptr<Backend> memcpy_backend();

/// Bytes that one run copies for the case.
[[nodiscard]] std::int64_t memcpy_bytes(const Case& test_case);

}  // namespace qconform::bench
