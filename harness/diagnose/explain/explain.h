// Why a backend is wrong on a case: the smallest set of defect models that reproduces its output there and on further
// cases, made to tell the remaining sets apart.
//
// docs/explain.md describes the method and what is claimed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/diagnose/explain/candidates.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/model/defects/diagnosed_case.h"

namespace qconform::diagnose {

// Places in which outputs are wrong, and how far they are off.

/// The narrowest of a list of regions of the output that holds every wrong element.
struct Pattern {
  std::string_view id;           ///< "border"; "everywhere" when no place of the list holds them all
  std::string_view description;  ///< "windows that reach the padding"
  std::uint64_t wrong = 0;       ///< wrong elements, all of them in that place
  std::uint64_t there = 0;       ///< elements in that place
  std::uint64_t elements = 0;    ///< elements of the outputs looked at
};

/// Finds the pattern of all failing observations together. Outputs of a wrong shape have the pattern "shape" when there
/// are no others.
[[nodiscard]] Pattern pattern_of(std::span<const Observation* const> observations);

/// Whether every wrong element of the failing observation lies in the place of that id; "everywhere" and
/// "shape" as in pattern_of().
[[nodiscard]] bool lies_in(const Observation& observation, std::string_view pattern_id);

/// How far wrong elements are from the right values.
struct ErrorDistribution {
  std::uint64_t wrong = 0;
  double lowest = 0;   ///< lowest got - right; NaN counts for neither
  double highest = 0;  ///< highest got - right
  std::uint64_t too_low = 0;
  std::uint64_t too_high = 0;
  std::uint64_t by_one = 0;  ///< off by 1 in either direction
};
[[nodiscard]] ErrorDistribution errors_of(std::span<const Observation* const> observations);

// The answer of explain(): which defects, how sure, and where and when they show.

/// A conjunction of features and bounds on sizes that every failing case meets, and as few passing ones as possible.
struct Region {
  std::vector<std::string> conditions;  ///< empty: nothing tells failing cases from passing ones
  std::uint32_t elements = 0;           ///< outputs of fewer elements do not count: they may be right by chance
  std::uint64_t failing = 0;         ///< cases that it was learnt from; all failing cases, small ones too, are inside
  std::uint64_t shown = 0;           ///< of those, cases that pass with their own data
  std::uint64_t passing = 0;         ///< passing cases that it was learnt from
  std::uint64_t passing_inside = 0;  ///< passing cases that meet the conditions all the same
  // Measured on cases that were held back while conditions were learnt from the others, each case once.
  double precision = 0;  ///< share of failing cases among those that meet the conditions
  double recall = 0;     ///< share of the failing cases that meet them

  [[nodiscard]] bool contains(const CaseTraits& traits) const;
  /// "padded, x_zero_point != 0"; empty without conditions.
  [[nodiscard]] std::string text() const;
};

/// At most four conditions, none of which could be left out without letting in more passing cases, and none of which
/// may be chance: that the passing cases which meet all others and lack this one all pass is less likely than 1e-4 if
/// it has nothing to do with the failure. Where the precision is below kFewestPrecise, it is learnt from cases of
/// larger outputs alone. Without conditions where there are fewer than three failing or passing cases, and where the
/// precision on cases held back stays below kFewestPrecise.
[[nodiscard]] Region learn_region(const std::vector<CaseTraits>& failing, const std::vector<CaseTraits>& passing);
inline constexpr double kFewestPrecise = 0.9;

/// As learn_region, of any precision.
[[nodiscard]] Region common_region(const std::vector<CaseTraits>& failing, const std::vector<CaseTraits>& passing);

/// As common_region, with the conditions that may be chance (less likely than 0.1): the cases outside
/// are to be tried.
[[nodiscard]] Region suspected_region(const std::vector<CaseTraits>& failing, const std::vector<CaseTraits>& passing);

enum class Status : std::uint8_t {
  explained,    ///< one set of models reproduces every byte of every output seen, and no other of its size does
  learnt,       ///< no model of a known defect does, and one expression in the place of a stage's does (learning.h)
  ambiguous,    ///< several sets of that size do, and no generated case tells them apart
  reproduced,   ///< one set reproduces every byte of every output seen, but fewer than three cases fail, or another set
                ///< was not tried; of a finding: every byte of its failing cases, while where the backend is right it
                ///< may compute something else
  partial,      ///< the nearest set reproduces the case in question, or explains most wrong elements; something
                ///< contradicts it, or is not reproduced
  unexplained,  ///< no set comes near
};

/// "explained", "learnt", "ambiguous", "reproduced", "partial", "unexplained"
[[nodiscard]] std::string_view name_of(Status status);

/// How much stands behind an explanation.
struct Support {
  static constexpr std::uint64_t kFewestFailing = 3;  ///< with fewer failing cases, nothing is certain

  std::uint64_t cases = 0;     ///< cases that the backend was run on, the one in question included
  std::uint64_t failing = 0;   ///< those of the cases with a wrong element or shape
  std::uint64_t elements = 0;  ///< elements of all outputs
  std::uint64_t wrong = 0;     ///< wrong elements
  // Counts under the best set of models:
  std::uint64_t reproduced_cases = 0;  ///< every byte of them
  std::uint64_t explained = 0;         ///< wrong elements that it reproduces
  std::uint64_t broken = 0;            ///< elements that are right or legal, where it computes something else
  std::uint64_t legal = 0;             ///< elements that it need not reproduce: DefectSet::legal
  bool reproduces_case = false;        ///< the case in question, every element
};

struct Explanation {
  Status status = Status::unexplained;
  const Operator* op = nullptr;
  /// The best one first: one where explained, the nearest one where partial, none where unexplained.
  std::vector<DefectSet> candidates;
  std::string arithmetic;   ///< Arithmetic::name, under the first candidate: "ort-f32"
  bool is_on_base = false;  ///< identify found `arithmetic` of the backend, and the defects leave it
  /// Sets of one defect more that no generated case excluded: the backend may have these defects too.
  std::vector<DefectSet> not_excluded;
  Support support;
  Pattern pattern;                ///< pattern of the wrong elements of all cases
  Pattern pattern_of_case;        ///< pattern of the case in question alone
  ErrorDistribution errors;       ///< errors of the case in question
  Region region;                  ///< region of the cases that the backend was run on
  std::uint64_t expressions = 0;  ///< tried, to learn a model
  std::uint64_t agreed = 0;       ///< cases on which a learnt model differs from the reference, made when it was known
  std::optional<SeparatingCase> experiment{};  ///< evidence of the first candidate, where it has a name to be told
  std::uint64_t work = 0;                      ///< work of models: ExplainOptions::work, without what learning took
  double seconds = 0;                          ///< wall-clock time

  /// Returns the pattern of the wrong elements of all cases; "shape" where the case in question has none.
  [[nodiscard]] const Pattern& place() const { return pattern_of_case.id == "shape" ? pattern_of_case : pattern; }
  /// A name for what is wrong, the same from case to case: "pad-raw-zero+half-away";
  /// "w-zp-first-channel|w-zp-group-local" where ambiguous; "partial:pad-raw-zero" where that reproduces the
  /// case in question, but not everything; else "unexplained:border", with the pattern.
  [[nodiscard]] std::string signature() const;
  /// The arithmetic, where it is the backend's own; else empty.
  [[nodiscard]] std::string base() const;
};

/// Fills in what stands behind the candidates, from all that was observed; everything but the region.
void describe(Explanation& explanation, const Evidence& evidence, const CandidateTest& test);

// The question.

struct ExplainOptions {
  std::uint64_t seed = 1;
  std::uint64_t cases = 1500;  ///< at most, that are generated
  /// At most, of models run on cases, in products (ModelledCase::expense()): a few nanoseconds each. A step
  /// that has begun is not cut short. The answer does not depend on how busy the machine is.
  std::uint64_t work = std::uint64_t{1} << 30;
  /// At most, of models run to learn a model where the known ones do not explain the failure, in products; 0: learns
  /// none.
  std::uint64_t learning_work = std::uint64_t{1} << 30;
  double seconds = 6;  ///< at most, that the backend takes, wall-clock time
  /// Whether a set that explains most wrong elements is worth naming too where none reproduces the case in question.
  bool nearest = true;
  /// Further cases on which the backend fails, small ones where the case in question is large.
  std::vector<Case> neighbours{};
  /// The backend's arithmetic, where it is known (probes.h).
  std::optional<Arithmetic> base{};
  /// Cases that tell the backend from the arithmetics nearest to its own: a candidate that is an arithmetic itself has
  /// to have them too.
  std::vector<Case> telling{};
  /// The models that come into question; empty: all of them.
  std::vector<const Defect*> known{};
  /// Whether another cause has this failure, so that nothing is to be learnt from it. May be empty.
  std::function<bool(const Observation&)> is_explained{};
};

/// `observation` is a failure of the backend that `run` runs. What it is refused, or crashes on, says
/// nothing and is left aside.
[[nodiscard]] Explanation explain(std::unique_ptr<Observation> observation, const Runner& run, const Policy& policy,
                                  const ExplainOptions& options = {});

/// The fewest defects of the explanation's first set that reproduce every byte of the failure: a backend may have
/// others too, which do not show there. Nothing where the whole set does not reproduce it.
[[nodiscard]] std::optional<DefectSet> shown_defects(const Explanation& explanation, const Observation& failure,
                                                     const Policy& policy, const ExplainOptions& options = {});

/// Whether an answer shows the defects that `failure` shows: shrinking that holds it does not slip to another defect.
/// Empty, so that it holds nothing, where shown_defects() finds none.
[[nodiscard]] shrink::HasCause same_cause(const Explanation& explanation, const Observation& failure,
                                          const Policy& policy, const ExplainOptions& options = {});

}  // namespace qconform::diagnose
