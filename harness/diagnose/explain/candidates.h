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
#include "harness/model/defects/observation.h"

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
  /// Whether it is a learnt model (harness/forms/defects/learnt_model.h).
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
  /// Whether one arithmetic's answer may be far from another's there.
  [[nodiscard]] static bool arithmetics_diverge(const Observation& observation);
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

}  // namespace qconform::diagnose
