// The detection power of the cases that one backend computes: mutants that they kill, of those that a case kills which
// the backend takes.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "harness/core/profile.h"
#include "harness/diagnose/audit/audit.h"
#include "harness/engine/contracts.h"
#include "harness/report/report.h"

namespace qconform::diagnose {

/// Tells which mutants single cases kill.
class MutantTable {
 public:
  /// Expense (ModelledCase::expense()) of a case on which mutants always run, and what they may take on larger ones.
  static constexpr std::uint64_t kSmallCase = 10'000;
  static constexpr std::uint64_t kLargeCases = 200'000'000;

  explicit MutantTable(const Policy& policy);
  [[nodiscard]] const std::vector<Mutant>& mutants() const { return mutants_; }
  /// Numbers of mutants() that the judge condemns on the case, ascending. `settled` ones are not run, and none is on a
  /// large case once kLargeCases are spent.
  [[nodiscard]] std::vector<std::uint32_t> killed_by(const Case& test_case, const std::set<std::uint32_t>& settled);

 private:
  Policy policy_;
  std::vector<Mutant> mutants_;
  std::vector<MutantModel> models_;
  std::uint64_t left_for_large_ = kLargeCases;
};

class PowerMeter {
 public:
  explicit PowerMeter(const Policy& policy) : policy_(policy), table_(policy) {}

  /// A case that the backend computed.
  void add(const Case& test_case);

  /// The power of the cases so far. Mutants apply that these kill, or that a case inside `contracts` kills: one of the
  /// corpus, of suite_within(), or of drawn_within() under the seed that follows `seed`. Errors: of the corpus.
  [[nodiscard]] Result<DetectionPower> power(const Contracts& contracts, std::uint64_t seed) const;

 private:
  Policy policy_;
  MutantTable table_;
  std::set<std::uint64_t> cases_;    // digests
  std::set<std::uint32_t> killed_;   // numbers of the table's mutants
  std::set<const Operator*> asked_;  // operators of the cases
};

}  // namespace qconform::diagnose
