// One experiment on one set of forms: candidates, what they predict, and which of them are out.
#pragma once

#include <vector>

#include "harness/diagnose/identify/identify.h"

namespace qconform::diagnose {

/// A candidate, and the stages that compute as it says.
struct Hypothesis {
  Candidate candidate;
  Stages stages;
};

/// Pairs of candidates that are left; when one is left, that one and an eliminated one, often the one that
/// the fewest elements tell it from. The hypotheses must outlive it.
class NextPairs final : public CandidatePairs {
 public:
  explicit NextPairs(const std::vector<Hypothesis>& hypotheses);
  [[nodiscard]] Pair next(Rng& rng) const override;

 private:
  std::vector<const Hypothesis*> left_;
  std::vector<const Hypothesis*> eliminated_;
};

class Elimination {
 public:
  /// Every combination of the variants of the experiment's choices, on top of `base`.
  Elimination(const Experiment& experiment, const Stages& base);

  /// Those to be told apart by the next case.
  [[nodiscard]] NextPairs pairs() const { return NextPairs(hypotheses_); }

  /// Whether any two candidates predict different outputs: only then is the case worth running.
  [[nodiscard]] bool predict(const Case& test_case);

  /// Holds the predictions against what the backend computed; whether one more candidate is out. An output
  /// of another shape is a failure that no variant explains.
  [[nodiscard]] bool eliminate(const Case& test_case, const Tensor& got);

  /// Whether another case is of no use after `idle` ones in a row that eliminated nothing.
  [[nodiscard]] bool is_over(int idle) const;

  /// The result; the experiment is of no use after it.
  [[nodiscard]] Answer take(std::vector<Form> forms);

 private:
  [[nodiscard]] std::vector<bool> discriminating_elements() const;

  Answer answer_;
  std::vector<Hypothesis> hypotheses_;
  std::vector<Tensor> predictions_;
};

}  // namespace qconform::diagnose
