// Case + Outcome -> Verdict.
#pragma once

#include <optional>

#include "harness/core/case.h"
#include "harness/core/outcome.h"
#include "harness/core/profile.h"
#include "harness/core/verdict.h"
#include "harness/operators/operator.h"

namespace qconform {

/// What is right for one case, computed once and held against every backend. The case must outlive it.
struct Expected {
  Classification classification;
  std::optional<Tensor> output;           ///< the reference's answer; absent when the case is out of
                                          ///< contract, or any in-range value is right
  std::optional<Tensor> alternative;      ///< a second right answer, element by element
  bool recorded_output_disputed = false;  ///< the source's own answer is not among them
  bool expectation_disputed = false;      ///< the source expects another lane than the semantics
};

/// Runs the reference under `profile`.
[[nodiscard]] Expected expect(const Case& test_case, RoundingProfile profile);

/// Judges one backend's outcome.
[[nodiscard]] Verdict judge(const Expected& expected, const Outcome& outcome);

}  // namespace qconform
