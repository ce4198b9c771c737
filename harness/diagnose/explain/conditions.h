// Conditions under which a backend fails, tried on cases that pass: values may hide a failure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/core/case.h"
#include "harness/diagnose/explain/explain.h"

namespace qconform::diagnose {

/// Cases that passed: what the vocabulary says of them, and the cases themselves as far as they are small. Of many it
/// has a sample.
class PassedCases {
 public:
  static constexpr std::size_t kKept = 2000;

  /// Whether the next case that passes comes to the sample: features cost a part of what judging costs.
  [[nodiscard]] bool wants_next() const { return passed_ < kKept || passed_ % kTurn == 0; }
  /// Counts a case that passes and is not wanted.
  void skip() { ++passed_; }
  void add(const Case& test_case, const CaseTraits& traits);
  /// Puts others in their place, of which no cases are known.
  void replace(std::vector<CaseTraits> traits);

  [[nodiscard]] const std::vector<CaseTraits>& traits() const { return traits_; }
  /// Null where the case was too large to be kept.
  [[nodiscard]] const Case* test_case(std::size_t i) const;

 private:
  static constexpr std::uint64_t kTurn = 16;

  std::vector<CaseTraits> traits_;
  std::vector<std::optional<Case>> cases_;
  std::uint64_t passed_ = 0;
};

/// Cases from which conditions are learnt, after some were run with other values.
struct TriedConditions {
  std::vector<CaseTraits> failing;  ///< cases that passed, and fail with other data
  std::vector<CaseTraits> passing;  ///< cases that pass
};

/// Runs passing cases that meet the conditions which all failing ones have in common, with other data of the same
/// types, where learn_region() tells no conditions. Bounded in runs and in time. Nothing where there is nothing to try,
/// or no passing case fails then.
[[nodiscard]] std::optional<TriedConditions> try_conditions(const std::vector<CaseTraits>& failing,
                                                            const PassedCases& passed, const Runner& run,
                                                            const Policy& policy);

}  // namespace qconform::diagnose
