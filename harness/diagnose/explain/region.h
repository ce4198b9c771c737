// In which cases a failure occurs, learnt from cases that fail and cases that pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/diagnose/explain/case_features.h"

namespace qconform::diagnose {

/// A conjunction of features that every failing case has, and as few passing ones as possible.
struct Region {
  std::vector<std::string> conditions;  ///< empty: nothing tells failing cases from passing ones
  std::uint64_t failing = 0;            ///< cases that it was learnt from, all inside
  std::uint64_t passing = 0;            ///< likewise
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

}  // namespace qconform::diagnose
