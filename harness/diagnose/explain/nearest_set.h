// Finds sets of defects: the nearest one where none reproduces everything, and the one that most failures have in
// common.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/diagnose/explain/candidates.h"

namespace qconform::diagnose {

/// Bounds an explanation: its counted work, so that the answer does not depend on how busy the machine is, and the time
/// that the backend takes, which nobody can count.
class Budget {
 public:
  /// `work` in products (ModelledCase::expense()), that of `test` included; `backend_seconds` wall-clock.
  Budget(const CandidateTest& test, std::uint64_t work, double backend_seconds)
      : test_(test), most_work_(work), most_seconds_(backend_seconds) {}

  void spend(std::uint64_t work) { other_work_ += work; }
  void spend_on_backend(double seconds) { backend_seconds_ += seconds; }

  [[nodiscard]] bool is_backend_left() const { return backend_seconds_ < most_seconds_; }
  [[nodiscard]] std::uint64_t work() const { return test_.work() + other_work_; }
  [[nodiscard]] std::uint64_t most_work() const { return most_work_; }
  /// Whether less than this share (0 to 1) of both is spent.
  [[nodiscard]] bool is_left(double share) const {
    return static_cast<double>(work()) < static_cast<double>(most_work_) * share &&
           backend_seconds_ < most_seconds_ * share;
  }

 private:
  const CandidateTest& test_;
  std::uint64_t most_work_;
  double most_seconds_;
  std::uint64_t other_work_ = 0;  // work of models beside that of test_
  double backend_seconds_ = 0;
};

/// The set of one or two of the `known` defects that comes nearest: one that reproduces every element of the
/// case in question and explains more than it contradicts, or one that explains most wrong elements. Empty
/// where none is worth naming.
[[nodiscard]] std::vector<DefectSet> nearest_set(const CandidateTest& test, const Evidence& evidence,
                                                 std::span<const Defect* const> known, const Budget& budget);

// Failures of several causes, taken apart: which defects reproduce the most of them, one cause after the other.

/// Defects that a cause has at most.
inline constexpr std::size_t kMostDefects = 4;

/// A candidate's models: under the policy's own arithmetic first, then under each other one that its defects leave
/// open.
class CandidateModels {
 public:
  CandidateModels(const CandidateTest& test, const DefectSet& candidate);

  /// How the nearest of them stands to the observation: one that reproduces every byte, else one that nothing
  /// contradicts, else the first. Others than the first are asked only where they may be near.
  [[nodiscard]] Match match(const CandidateTest& test, const Observation& observation) const;

 private:
  std::vector<NodeModels> models_;
};

/// The set of `known` defects that reproduces the most of these failures, each bit for bit under some admitted
/// arithmetic; nothing where none reproduces any. A larger set is taken only where it reproduces at least twice as many
/// that no part of it does: so two defects that are not in the same cases are two sets. Of those that reproduce as many
/// the one that contradicts the fewest of `passing`, which other paths of the backend may have computed. `work`: of
/// models, in products, after which no larger sets are tried.
[[nodiscard]] std::optional<DefectSet> most_reproducing(const CandidateTest& test,
                                                        std::span<const Observation* const> failing,
                                                        std::span<const Observation* const> passing,
                                                        std::span<const Defect* const> known, std::uint64_t work);

/// A set of three defects or more that reproduces all of these failures, grown from the nearest smaller ones; nothing
/// where none was found. Not every set is tried.
[[nodiscard]] std::optional<DefectSet> reproducing_all(const CandidateTest& test,
                                                       std::span<const Observation* const> failing,
                                                       std::span<const Defect* const> known, std::uint64_t work);

}  // namespace qconform::diagnose
