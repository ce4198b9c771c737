// Runs one prepared case from several threads at once, and compares the bytes with those of a single run.
#pragma once

#include <memory>

#include "harness/core/backend.h"

namespace qconform::backend {

inline constexpr int kMostThreads = 64;

/// The same backend, whose every run that gives an output is repeated kThreadRuns times in each of
/// `threads` threads (2 to kMostThreads), which start together. Another output, or a refusal, in any of them is
/// the outcome ThreadDependent; one that a second run alone shows too is DependsOnEarlierRuns or Nondeterministic.
/// `inner` must say that it is concurrent.
[[nodiscard]] std::unique_ptr<Backend> threads_checked(std::unique_ptr<Backend> inner, int threads);

/// Runs in each thread: threads that all end before the next has begun would show nothing.
inline constexpr int kThreadRuns = 8;

}  // namespace qconform::backend
