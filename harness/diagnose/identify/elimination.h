// One experiment on one set of forms: candidates, what they predict, and which of them are out.
#pragma once

#include <vector>

#include "harness/diagnose/identify/identify.h"

namespace qconform::diagnose {

/// A candidate, and the stages that compute as it says, on top of each base.
struct Hypothesis {
  Candidate candidate;
  std::vector<Stages> stages;
};

/// Pairs of candidates that are left; when one is left, that one and an eliminated one, often the one that
/// the fewest elements tell it from. The hypotheses must outlive it.
class NextPairs final : public CandidatePairs {
 public:
  NextPairs(const std::vector<Hypothesis>& hypotheses, std::size_t base);
  [[nodiscard]] Pair next(Rng& rng) const override;

 private:
  std::size_t base_;
  std::vector<const Hypothesis*> left_;
  std::vector<const Hypothesis*> eliminated_;
};

/// One that is left and one that makes one choice in another way; each choice as often.
class NeighbourPairs final : public CandidatePairs {
 public:
  NeighbourPairs(const std::vector<Hypothesis>& hypotheses, std::size_t base);
  [[nodiscard]] Pair next(Rng& rng) const override;

 private:
  std::size_t base_;
  const Hypothesis* left_ = nullptr;
  std::vector<std::vector<const Hypothesis*>> others_;  // by the choice, those without any left out
};

class Elimination {
 public:
  /// Every combination of the variants of the experiment's choices, on top of each of `bases`. Where an earlier
  /// variant settles a choice (Variant::settles), the first variant stands for all.
  Elimination(const Experiment& experiment, const std::vector<Stages>& bases);

  /// Those to be told apart by the next case, which has that base.
  [[nodiscard]] NextPairs pairs(std::size_t base) const { return {hypotheses_, base}; }
  [[nodiscard]] NeighbourPairs neighbour_pairs(std::size_t base) const { return {hypotheses_, base}; }

  /// From now on the candidates that are left predict, and those that differ from one of them in one choice.
  void watch_neighbours();
  /// Whether any two candidates predict different outputs: only then is the case worth running.
  [[nodiscard]] bool predict(const Case& test_case, std::size_t base);

  /// Holds the predictions against what the backend computed; whether one more candidate is out. An output
  /// of another shape is a failure that no variant explains.
  [[nodiscard]] bool eliminate(const Case& test_case, const Tensor& got);

  /// Whether another case is of no use after `idle` ones in a row that eliminated nothing.
  [[nodiscard]] bool is_over(int idle) const;
  /// Candidates.
  [[nodiscard]] std::size_t left() const;

  /// The result; the experiment is of no use after it.
  [[nodiscard]] Answer take(std::vector<Form> forms);

 private:
  [[nodiscard]] std::vector<bool> discriminating_elements() const;

  Answer answer_;
  std::vector<Hypothesis> hypotheses_;
  std::vector<std::size_t> watched_;  // positions of the hypotheses that predict
  std::vector<Tensor> predictions_;   // their predictions, in this order
};

}  // namespace qconform::diagnose
