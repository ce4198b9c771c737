// The answer of explain(): the places in which a backend is wrong, which defects it has, how sure that is, and when
// they show.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/diagnose/explain/candidates.h"
#include "harness/model/defects/case_features.h"
#include "harness/model/defects/observation.h"

namespace qconform::diagnose {

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

/// A conjunction of features that every failing case has, and as few passing ones as possible.
struct Region {
  std::vector<std::string> conditions;  ///< empty: nothing tells failing cases from passing ones
  std::uint64_t failing = 0;            ///< cases that it was learnt from, all inside
  std::uint64_t passing = 0;            ///< passing cases that it was learnt from
  std::uint64_t passing_inside = 0;     ///< passing cases that meet the conditions all the same

  [[nodiscard]] bool contains(const FeatureSet& features) const;
  /// "padded, x_zero_point != 0"; empty without conditions.
  [[nodiscard]] std::string text() const;
};

/// At most four conditions, none of which could be left out without letting in more passing cases, and none of which
/// may be chance: that the passing cases which meet all others and lack this one all pass is less likely than 1e-4 if
/// it has nothing to do with the failure. Without conditions where there are fewer than three failing or passing cases.
[[nodiscard]] Region learn_region(const std::vector<FeatureSet>& failing, const std::vector<FeatureSet>& passing);

/// As learn_region, with the conditions that may be chance (less likely than 0.1): the cases outside are to be tried.
[[nodiscard]] Region suspected_region(const std::vector<FeatureSet>& failing, const std::vector<FeatureSet>& passing);

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
  std::uint64_t work = 0;         ///< work of models: ExplainOptions::work, without what learning took
  double seconds = 0;             ///< wall-clock time

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

}  // namespace qconform::diagnose
