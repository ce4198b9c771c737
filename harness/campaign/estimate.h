// How many failing cases have one cause, where only a sample of them was examined.
#pragma once

#include <cstdint>
#include <span>

#include "harness/report/report.h"

namespace qconform::campaign {

/// Failing cases of which some were drawn at random and examined.
struct SampledFailures {
  std::uint64_t rest = 0;     ///< cases that were not examined
  std::uint64_t sampled = 0;  ///< cases that were drawn and examined
  std::uint64_t found = 0;    ///< of those, cases with the cause
};

/// The 95 % confidence interval of the number of cases that have the cause: those `known`, and what the samples say of
/// the rest of each part. Shares are intervals of Wilson's score, of a sample that predicts a rest of that size; their
/// sum is taken by the distances of the ends from the estimates (method of variance estimates recovery, Zou and Donner,
/// Statistics in Medicine 27, 2008). A part without a sample counts from nothing to all of it. Both ends are `known`
/// where nothing is left.
[[nodiscard]] CasesBetween cases_between(std::uint64_t known, std::span<const SampledFailures> parts);

}  // namespace qconform::campaign
