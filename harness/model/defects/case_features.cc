#include "harness/model/defects/case_features.h"

#include <algorithm>
#include <cassert>

#include "harness/base/small_set.h"
#include "harness/model/family.h"

namespace qconform::diagnose {
namespace {

// A corner case, or corner cases in whichever direction.
struct Reach {
  std::string text;
  SmallSet<CornerCase> corner_cases;
};

// Whether failures of some operator that it concerns are explained.
bool is_explained(const CornerCaseInfo& info) {
  return std::any_of(families().begin(), families().end(), [&](const Family* family) {
    const auto concerns = [&](const Operator& known) { return known.corner_cases.contains(info); };
    return family->run != nullptr && std::any_of(family->operators.begin(), family->operators.end(), concerns);
  });
}

const std::vector<Reach>& reaches() {
  static const std::vector<Reach> all = [] {
    std::vector<Reach> list{
        {"reaches exact ties", {CornerCase::tie_positive, CornerCase::tie_negative}},
        {"reaches values an ulp from a tie", {CornerCase::near_tie_above, CornerCase::near_tie_below}},
        {"reaches an end of the output's range", {CornerCase::clamp_low, CornerCase::clamp_high}},
        {"reaches subnormal numbers", {CornerCase::subnormal_scale, CornerCase::subnormal_result}},
    };
    for (const CornerCaseInfo& info : corner_cases()) {
      if (is_explained(info)) list.push_back({"reaches " + std::string(info.label), {info.corner_case}});
    }
    return list;
  }();
  return all;
}

const FeatureList& list_of(const Family& family) {
  static const FeatureList none{{}, [](const Case&, const Expected&) { return std::vector<bool>(); }};
  return family.case_features == nullptr ? none : family.case_features();
}

}  // namespace

std::span<const Feature> case_features() {
  static const std::vector<Feature> all = [] {
    std::vector<Feature> list;
    for (const Family* family : families()) {
      const std::vector<Feature>& own = list_of(*family).features;
      list.insert(list.end(), own.begin(), own.end());
    }
    for (const Reach& reach : reaches()) list.push_back({reach.text});
    return list;
  }();
  return all;
}

FeatureSet features_of(const Case& test_case, const Expected& expected) {
  assert(case_features().size() <= kMostFeatures);
  FeatureSet result;
  std::size_t at = 0;
  for (const Family* family : families()) {
    const FeatureList& list = list_of(*family);
    if (family == family_of(test_case)) {
      const std::vector<bool> hold = list.hold(test_case, expected);
      for (std::size_t i = 0; i < hold.size(); ++i) result[at + i] = hold[i];
    }
    at += list.features.size();
  }
  for (const Reach& reach : reaches()) {
    result[at++] = std::any_of(reach.corner_cases.begin(), reach.corner_cases.end(),
                               [&](CornerCase corner_case) { return expected.corner_cases[corner_case] > 0; });
  }
  return result;
}

}  // namespace qconform::diagnose
