// What can be said of a case in a few words: types, sizes and their remainders, geometry, zero points,
// scales, values, hazards reached. The vocabulary that regions are told in.
#pragma once

#include <bitset>
#include <span>
#include <string>

#include "harness/core/case.h"
#include "harness/judge/judge.h"

namespace qconform::diagnose {

inline constexpr std::size_t kMostFeatures = 256;

using FeatureSet = std::bitset<kMostFeatures>;

struct Feature {
  std::string text;  ///< "C % 16 != 0", "x int8", "reaches exact ties"
};

/// All of them: bit i of a FeatureSet stands for the feature at i. The plainest come first.
[[nodiscard]] std::span<const Feature> case_features();

/// Those that hold for a case in contract. Hazards count where assess() has been asked.
[[nodiscard]] FeatureSet features_of(const Case& test_case, const Expected& expected);

}  // namespace qconform::diagnose
