// Structured mutation of cases: what a fuzzer needs in order to change a case without breaking it.
//
// Everything here is deterministic: the same case and the same random numbers give the same mutant on
// every machine. Mutants stay within kLargestElements and kLargestWork, so that one takes about a
// millisecond to judge.
#pragma once

#include <cstdint>

#include "harness/core/case.h"
#include "harness/model/draws/rng.h"
#include "harness/model/operator.h"

namespace qconform {

inline constexpr std::int64_t kLargestElements = 4096;  ///< the most elements of an input, and of the output
inline constexpr std::int64_t kLargestWork = 1 << 16;   ///< products, or elements of an element-wise node

/// Whether a case is small enough to be judged at once.
[[nodiscard]] bool is_small(const Case& test_case, const Classification& classification);

/// A case that differs from `original` in one to three steps: values with extremes, scales near ties
/// and at the ends of their range, shapes with everything that follows from them, attributes, types,
/// versions. About one in sixteen is out of contract on purpose; other mutants of a case in contract
/// are in contract. What the case says of itself (id, note, expectation) is replaced: it no longer holds.
[[nodiscard]] Case mutate(const Case& original, Rng& rng);

/// `first` with some of `second`'s values, parameters or attributes; in contract where `first` is.
[[nodiscard]] Case cross(const Case& first, const Case& second, Rng& rng);

}  // namespace qconform
