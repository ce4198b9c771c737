// The evidence on a backend that fails, and sets of defects that are put to the test by it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/profile.h"
#include "harness/model/defects/arithmetic.h"
#include "harness/model/defects/diagnosed_case.h"

namespace qconform::diagnose {

/// The case in question first.
using Evidence = std::vector<std::unique_ptr<Observation>>;

/// Observations that are failures.
[[nodiscard]] std::vector<const Observation*> failures_of(const Evidence& evidence);

/// The observations, those first that contradict wrong candidates at the least expense: failures, then
/// by their work.
[[nodiscard]] std::vector<const Observation*> in_testing_order(const Evidence& evidence);

// Sets of defects that reproduce what a backend computed, and how they are put to the test.

/// The policy's own first, then those of the operator's family.
[[nodiscard]] std::vector<Arithmetic> arithmetics(const Operator& op, const Policy& policy);

/// Defects that a backend may have, all at once.
struct DefectSet {
  std::vector<const Defect*> defects;
  std::size_t arithmetic = 0;  ///< the one under which they fit best
  /// Elements in which backend and model differ although the defects do not show there: legal values by
  /// an arithmetic that is none of arithmetics(). 0 when every byte is reproduced.
  std::uint64_t legal = 0;

  /// "pad-raw-zero+half-away"
  [[nodiscard]] std::string name() const;
  /// Whether it is a learnt model (harness/forms/defects/defect_files.h).
  [[nodiscard]] bool is_learnt() const { return defects.size() == 1 && defects[0]->is_learnt; }
};

/// Tests candidates against evidence, element by element, and counts what that takes.
class CandidateTest {
 public:
  /// `base`: what is known of the backend's arithmetic, which is tried before the others; may be null.
  CandidateTest(const Operator& op, const Policy& policy, const Arithmetic* base = nullptr);

  [[nodiscard]] const std::vector<Arithmetic>& known_arithmetics() const { return arithmetics_; }
  [[nodiscard]] NodeModels model_of(const DefectSet& candidate) const {
    return model_of(candidate, candidate.arithmetic);
  }
  /// Whether it is the backend's own, as far as that is known, and not replaced by the defects.
  [[nodiscard]] bool is_on_base(const DefectSet& candidate) const {
    return has_base_ && candidate.arithmetic == 0 && choices_for(candidate) > 1;
  }

  /// Whether the defects reproduce every element of every observation, under one arithmetic if there is
  /// one. Sets `arithmetic` and `legal`.
  [[nodiscard]] bool fits(DefectSet& candidate, std::span<const Observation* const> evidence) const;
  /// How many of the arithmetics come into question, from the first on: one where the defects replace what they differ
  /// in.
  [[nodiscard]] std::size_t choices_for(const DefectSet& candidate) const;
  [[nodiscard]] NodeModels model_of(const DefectSet& candidate, std::size_t arithmetic) const;
  /// The model on one observation.
  [[nodiscard]] Match outcome_of(const NodeModels& model, const Observation& observation) const;
  /// Work of all models run so far, as ModelledCase::expense().
  [[nodiscard]] std::uint64_t work() const { return work_; }

 private:
  /// The elements that are legal and not reproduced; nothing where an observation contradicts.
  [[nodiscard]] std::optional<std::uint64_t> legal_under(const DefectSet& candidate, std::size_t arithmetic,
                                                         std::span<const Observation* const> evidence) const;

  std::vector<Arithmetic> arithmetics_;
  bool has_base_ = false;  // the first of them
  mutable std::uint64_t work_ = 0;
};

/// Each defect of the list by itself.
[[nodiscard]] std::vector<DefectSet> single_candidates(std::span<const Defect* const> defects);
/// Every two of them that combine.
[[nodiscard]] std::vector<DefectSet> pair_candidates(std::span<const Defect* const> defects);

// The nearest set, where none reproduces everything, and the work that finding it may take.

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
/// case in question and explains more than it contradicts, or, unless it `must_reproduce`, one that explains most wrong
/// elements. Empty where none is worth naming.
[[nodiscard]] std::vector<DefectSet> nearest_set(const CandidateTest& test, const Evidence& evidence,
                                                 std::span<const Defect* const> known, const Budget& budget,
                                                 bool must_reproduce);

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
  /// Whether one of them computes what the rules admit on the observation's case.
  [[nodiscard]] bool may_be_right_on(const Observation& observation) const;

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
