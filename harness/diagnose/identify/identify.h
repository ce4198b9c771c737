// How a backend computes: of the variants that are known, which one its outputs are consistent with.
//
// Every combination of variants of an experiment (arithmetic.h) is a candidate. Cases are drawn on which
// candidates disagree; the backend's output eliminates those that predicted another value of any element. A candidate
// that is left when no case tells the rest apart any more has survived, with the number of elements that confirm it.
// If no candidate is left, that is an answer too: none of the known variants.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/profile.h"
#include "harness/model/defects/arithmetic.h"

namespace qconform::diagnose {

// The answers, from one candidate to all experiments.

/// The first case that a candidate predicted wrongly.
struct Refutation {
  Case test_case;
  std::int64_t element = 0;  ///< flat index
  std::string got;
  std::string predicted;
};

/// A variant for each choice of an experiment.
struct Candidate {
  std::vector<const Variant*> variants;
  /// Elements, and cases with such, on which some candidates disagreed and this one was right.
  std::uint64_t confirmed_elements = 0;
  std::uint64_t confirmed_cases = 0;
  std::uint64_t refuted_elements = 0;  ///< elements that it predicted wrongly
  std::uint64_t refuted_cases = 0;
  std::optional<Refutation> refutation;

  [[nodiscard]] bool survives() const { return refuted_elements == 0; }
};

/// The result of one experiment, for all nodes or for some.
struct Answer {
  std::string_view op_type;
  std::vector<const Choice*> choices;
  std::vector<ProbeForm> forms;   ///< forms that the backend takes; without any, nothing could be asked
  std::vector<KindPattern> only;  ///< kinds of nodes that the answer holds for, where others have another; else empty
  std::string holds_for;          ///< `only` in words: "all but depthwise"
  std::string narrowed;           ///< parts left out of the forms for any candidate to fit; may be empty
  std::string declined;           ///< the backend's reason, where it takes no form
  std::uint64_t cases = 0;        ///< cases that the backend computed
  std::uint64_t elements = 0;
  std::vector<Candidate> candidates;  ///< always in one order for an experiment

  [[nodiscard]] std::vector<const Candidate*> survivors() const;
  /// The variant that leaves nothing of the choice in that position (Variant::settles); null where there is none.
  [[nodiscard]] const Variant* settling(const Candidate& candidate, std::size_t choice) const;
  /// The eliminated candidate that the fewest elements refute; null when none is eliminated.
  [[nodiscard]] const Candidate* nearest_eliminated() const;
};

struct Identification {
  BackendInfo backend;
  std::uint64_t seed = 0;
  std::uint64_t cases = 0;  ///< cases that the backend was given, refused ones included
  std::vector<Answer> answers;
};

struct IdentifyOptions {
  std::uint64_t seed = 1;
  /// Experiments that are performed; empty: all.
  std::function<bool(const Experiment&)> wants = {};
  std::function<void(std::uint64_t cases)> progress = {};  ///< called after every case; may be empty
};

[[nodiscard]] Identification identify(Backend& backend, const IdentifyOptions& options);
/// Identifies the arithmetic of whatever `run` runs and `info` describes.
[[nodiscard]] Identification identify(const std::function<Outcome(const Case&)>& run, const BackendInfo& info,
                                      const IdentifyOptions& options);

[[nodiscard]] std::string identification_json(const Identification& identification);

// Pinned profiles of what was identified.

/// Pins what was identified. Leaves out an operator of which an experiment found none of the known variants, or the
/// types for which it did. Takes the first of several variants that no case tells apart, and the reference's for what
/// the backend declines.
[[nodiscard]] PinnedProfile pinned_profile(const Identification& identification);

/// Returns the pins of one operator: one for each set of nodes that differs from others. `with_narrowed`: also for what
/// was found where the backend has a defect beside its arithmetic (Answer::narrowed).
[[nodiscard]] std::vector<Pin> pins_of(const Identification& identification, std::string_view op_type,
                                       bool with_narrowed);

// One experiment on one set of forms: candidates, what they predict, and which of them are out.

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
  [[nodiscard]] Answer take(std::vector<ProbeForm> forms);

 private:
  [[nodiscard]] std::vector<bool> discriminating_elements() const;

  Answer answer_;
  std::vector<Hypothesis> hypotheses_;
  std::vector<std::size_t> watched_;  // positions of the hypotheses that predict
  std::vector<Tensor> predictions_;   // their predictions, in this order
};

}  // namespace qconform::diagnose
