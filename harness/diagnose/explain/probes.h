// Cases that tell hypotheses about a backend apart, and the backend's own arithmetic, learnt before failures are
// explained.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/diagnose/explain/candidates.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/draws/draws.h"
#include "harness/model/family.h"

namespace qconform::diagnose {

/// Small cases in contract, of one operator, without end: by turns neighbours of cases that showed
/// something, random ones, and ones that aim for a corner case. Deterministic.
class Probes {
 public:
  Probes(const Operator& op, std::uint64_t seed);

  /// One case in three is from now on a mutant of this one or of another one added. A case that is not
  /// small (harness/model/mutate) has no mutants, and is left aside. Keeps the latest few.
  void add_neighbourhood(const Case& test_case);

  /// Returns the corner cases that concern the operator.
  [[nodiscard]] const std::vector<CornerCase>& concerned() const { return concerned_; }
  /// From now on most cases that aim for a corner case aim for one of these, which concern the operator, and
  /// more cases do.
  void target(std::vector<CornerCase> corner_cases) { targets_ = std::move(corner_cases); }
  /// From now on two cases in three are mutants.
  void stay_near() { is_near_ = true; }

  [[nodiscard]] Case next();

 private:
  [[nodiscard]] Case draw(Rng& rng) const;
  [[nodiscard]] CornerCase draw_corner_case(Rng& rng) const;

  const Operator& op_;
  const Family& family_;
  std::vector<CornerCase> concerned_;
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
  std::vector<CornerCase> targets_;
  std::vector<Case> neighbours_;
  bool is_near_ = false;
  std::size_t oldest_ = 0;  // number of the oldest neighbour, once there are as many as are kept
};

/// Returns the corner cases that all failures have in common, and all corner cases of rounding where the failures are
/// about ties.
[[nodiscard]] std::vector<CornerCase> common_corner_cases(const Operator& op,
                                                          std::span<const Observation* const> failures);

/// Returns corner cases near which those of the `known` defects show that some of the candidates have and others lack;
/// with `few_failures`, also those that all of them have.
[[nodiscard]] std::vector<CornerCase> separating_corner_cases(const Operator& op,
                                                              std::span<const DefectSet* const> candidates,
                                                              std::span<const Defect* const> known, bool few_failures);

// Learns a backend's own arithmetic before its failures are explained: the base on which defects are tried.

struct BaseArithmetic {
  /// The arithmetic that identify() found, or that a profile from a file pins, as far as the policy admits it: whatever
  /// it does not admit is a defect. Absent where that is the policy's own arithmetic, or nothing fits.
  std::optional<Arithmetic> arithmetic;
  /// Cases that tell the backend from the arithmetics that come nearest to its own.
  std::vector<Case> telling;
};

/// Asks the backend that `run` runs, unless the policy has a profile from a file. Nothing is learnt of one that crashes
/// or times out again and again, or that takes longer than `seconds` altogether.
[[nodiscard]] BaseArithmetic learn_base(const Runner& run, const Operator& op, const Policy& policy, double seconds);

}  // namespace qconform::diagnose
