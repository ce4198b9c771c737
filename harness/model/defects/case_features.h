// Features, which describe a case in a few words: types, sizes and their remainders, geometry, zero points, scales,
// values, corner cases reached. Regions of failing cases are described in this vocabulary.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/case.h"
#include "harness/model/judge/judge.h"

namespace qconform::diagnose {

inline constexpr std::size_t kMostFeatures = 256;

using FeatureSet = std::bitset<kMostFeatures>;

struct Feature {
  std::string text;  ///< "C % 16 != 0", "x int8", "reaches exact ties"
};

/// The features that a family knows of its cases (Family::case_features).
struct FeatureList {
  std::vector<Feature> features;  ///< the plainest come first
  /// Says for each feature whether it holds for a case in contract.
  std::function<std::vector<bool>(const Case& test_case, const Expected& expected)> hold;
};

/// Collects the features of a family, each as a question to a view of the case: a type that can be made from a case and
/// what is expected of it.
template <typename View>
class FeatureQuestions {
 public:
  using Question = std::function<bool(const View&)>;

  void add(std::string text, Question holds) { all_.push_back({std::move(text), std::move(holds)}); }
  /// Both words: what the question asks, and its opposite; of cases that `concerns` picks.
  void add_both(const Question& concerns, std::string yes, std::string no, const Question& holds) {
    add(std::move(yes), [=](const View& v) { return concerns(v) && holds(v); });
    add(std::move(no), [=](const View& v) { return concerns(v) && !holds(v); });
  }
  void add_both(std::string yes, std::string no, const Question& holds) {
    add_both([](const View&) { return true; }, std::move(yes), std::move(no), holds);
  }
  /// "C % 2 != 0" and so on, of the widths of vectors.
  void add_remainders(const std::string& name, std::int64_t (*size)(const View&)) {
    for (const std::int64_t width : {2, 4, 8, 16, 32}) {
      const std::string text = name + " % " + std::to_string(width);
      add_both(text + " != 0", text + " == 0", [=](const View& v) { return size(v) % width != 0; });
    }
  }

  [[nodiscard]] FeatureList list() && {
    FeatureList result;
    for (const Asked& asked : all_) result.features.push_back({asked.text});
    result.hold = [all = std::move(all_)](const Case& test_case, const Expected& expected) {
      const View view(test_case, expected);
      std::vector<bool> hold;
      for (const Asked& asked : all) hold.push_back(asked.holds(view));
      return hold;
    };
    return result;
  }

 private:
  struct Asked {
    std::string text;
    Question holds;
  };
  std::vector<Asked> all_;
};

template <typename T>
[[nodiscard]] bool differ(const std::vector<T>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end();
}

template <typename T>
[[nodiscard]] bool any_nonzero(const std::vector<T>& values) {
  return std::any_of(values.begin(), values.end(), [](T value) { return value != 0; });
}

/// The features of all families, and the corner cases: bit i of a FeatureSet stands for the feature at i.
[[nodiscard]] std::span<const Feature> case_features();

/// The features that hold for a case in contract. Corner cases count where assess() has been asked.
[[nodiscard]] FeatureSet features_of(const Case& test_case, const Expected& expected);

}  // namespace qconform::diagnose
