// Learns under which conditions cases fail: features and bounds on sizes that all failing cases have in common.
#include <algorithm>
#include <bit>
#include <iterator>

#include "harness/diagnose/explain/explain.h"

namespace qconform::diagnose {
namespace {

constexpr std::size_t kMostConditions = 4;
constexpr std::size_t kFewestOfEach = 3;
constexpr std::size_t kFolds = 5;

// All cases that lack a condition may pass by chance. A condition is told where that chance is at most kTold, and is
// worth a trial where it is at most kWorthATrial.
constexpr double kTold = 1e-4;
constexpr double kWorthATrial = 0.1;

// How likely so many cases without a condition, of these, all pass if the condition has nothing to do with it.
double chance_that_all_pass(std::uint64_t without, std::uint64_t passing, std::uint64_t failing) {
  double chance = 1;
  for (std::uint64_t i = 0; i < without; ++i) {
    chance *= static_cast<double>(passing - i) / static_cast<double>(passing + failing - i);
  }
  return chance;
}

// A set of passing cases, a bit for each.
class PassingCases {
 public:
  explicit PassingCases(std::size_t cases, bool all = false) : words_((cases + 63) / 64, all ? ~std::uint64_t{0} : 0) {
    if (all && cases % 64 != 0) words_.back() >>= 64 - cases % 64;
  }
  void add(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << i % 64; }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t word : words_) sum += static_cast<std::uint64_t>(std::popcount(word));
    return sum;
  }
  [[nodiscard]] std::uint64_t count_with(const PassingCases& other) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      sum += static_cast<std::uint64_t>(std::popcount(words_[i] & other.words_[i]));
    }
    return sum;
  }
  PassingCases& operator&=(const PassingCases& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    return *this;
  }

 private:
  std::vector<std::uint64_t> words_;
};

// A condition that all failing cases meet, and the passing cases that meet it too.
struct CommonCondition {
  std::string text;
  PassingCases inside;
};

using TraitsList = std::vector<CaseTraits>;

template <typename Holds>
void add_condition(std::vector<CommonCondition>& all, std::string text, const TraitsList& passing, const Holds& holds) {
  CommonCondition condition{std::move(text), PassingCases(passing.size())};
  for (std::size_t i = 0; i < passing.size(); ++i) {
    if (holds(passing[i])) condition.inside.add(i);
  }
  if (condition.inside.count() < passing.size()) all.push_back(std::move(condition));
}

// The plainest first. A bound is that of the failing cases.
std::vector<CommonCondition> common_conditions(const TraitsList& failing, const TraitsList& passing) {
  std::vector<CommonCondition> all;
  FeatureSet common;
  common.set();
  for (const CaseTraits& traits : failing) common &= traits.features;
  for (std::size_t i = 0; i < case_features().size(); ++i) {
    if (!common[i]) continue;
    add_condition(all, case_features()[i].text, passing, [&](const CaseTraits& traits) { return traits.features[i]; });
  }
  for (std::size_t i = 0; i < case_sizes().size(); ++i) {
    const auto [lowest, highest] =
        std::minmax_element(failing.begin(), failing.end(),
                            [&](const CaseTraits& a, const CaseTraits& b) { return a.sizes[i] < b.sizes[i]; });
    const std::uint32_t least = lowest->sizes[i];
    const std::uint32_t most = highest->sizes[i];
    if (least == 0) continue;
    if (least == most) {
      add_condition(all, case_sizes()[i] + " = " + std::to_string(least), passing,
                    [&](const CaseTraits& traits) { return traits.sizes[i] == least; });
    }
    add_condition(all, case_sizes()[i] + " >= " + std::to_string(least), passing,
                  [&](const CaseTraits& traits) { return traits.sizes[i] >= least; });
    add_condition(all, case_sizes()[i] + " <= " + std::to_string(most), passing,
                  [&](const CaseTraits& traits) { return traits.sizes[i] > 0 && traits.sizes[i] <= most; });
  }
  return all;
}

TraitsList of_elements(const TraitsList& cases, std::uint32_t fewest) {
  TraitsList large;
  std::copy_if(cases.begin(), cases.end(), std::back_inserter(large),
               [&](const CaseTraits& traits) { return traits.elements >= fewest; });
  return large;
}

class RegionLearner {
 public:
  // `counted`: those among the failing cases that count.
  RegionLearner(const TraitsList& failing, std::size_t counted, const TraitsList& passing)
      : failing_(counted), passing_(passing.size()), all_(common_conditions(failing, passing)) {}

  std::vector<std::string> conditions(bool is_told) {
    for (std::size_t i = 0; i < kMostConditions; ++i) narrow();
    drop_needless();
    if (is_told) drop_weak();
    std::vector<std::string> texts;
    std::sort(chosen_.begin(), chosen_.end());
    for (const std::size_t i : chosen_) texts.push_back(all_[i].text);
    return texts;
  }

 private:
  using Chosen = std::vector<std::size_t>;

  [[nodiscard]] PassingCases inside(const Chosen& chosen) const {
    PassingCases cases(passing_, true);
    for (const std::size_t i : chosen) cases &= all_[i].inside;
    return cases;
  }

  [[nodiscard]] Chosen without(std::size_t position) const {
    Chosen others = chosen_;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(position));
    return others;
  }

  // Adds the condition that leaves the fewest passing cases inside; ties go to the first.
  void narrow() {
    const PassingCases cases = inside(chosen_);
    const std::uint64_t before = cases.count();
    std::uint64_t fewest = before;
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const std::uint64_t left = cases.count_with(all_[i].inside);
      if (left >= fewest || chance_that_all_pass(before - left, before, failing_) > kWorthATrial) continue;
      fewest = left;
      best = i;
    }
    if (best) chosen_.push_back(*best);
  }

  // Drops the conditions that the later ones made needless.
  void drop_needless() {
    const std::uint64_t fewest = inside(chosen_).count();
    for (std::size_t i = 0; i < chosen_.size();) {
      if (inside(without(i)).count() > fewest) {
        ++i;
      } else {
        chosen_ = without(i);
      }
    }
  }

  // Drops those that too few passing cases speak for: the weakest goes first, and may leave cases to the others.
  void drop_weak() {
    for (;;) {
      const std::uint64_t left = inside(chosen_).count();
      double highest = kTold;
      std::optional<std::size_t> weakest;
      for (std::size_t i = 0; i < chosen_.size(); ++i) {
        const std::uint64_t before = inside(without(i)).count();
        const double chance = chance_that_all_pass(before - left, before, failing_);
        if (chance <= highest) continue;
        highest = chance;
        weakest = i;
      }
      if (!weakest) return;
      chosen_ = without(*weakest);
    }
  }

  std::size_t failing_;
  std::size_t passing_;
  std::vector<CommonCondition> all_;
  Chosen chosen_;
};

std::uint64_t count_inside(const TraitsList& cases, const Region& region) {
  std::vector<Condition> conditions;
  for (const std::string& text : region.conditions) conditions.push_back(*Condition::parse(text));
  return static_cast<std::uint64_t>(std::count_if(cases.begin(), cases.end(), [&](const CaseTraits& traits) {
    return std::all_of(conditions.begin(), conditions.end(),
                       [&](const Condition& condition) { return condition.holds(traits); });
  }));
}

Region region_of(const TraitsList& failing, const TraitsList& all_passing, bool is_told, std::uint32_t elements) {
  const TraitsList passing = of_elements(all_passing, elements);
  Region region;
  region.elements = elements;
  region.failing = of_elements(failing, elements).size();
  region.passing = passing.size();
  region.passing_inside = passing.size();
  if (region.failing < kFewestOfEach || passing.size() < kFewestOfEach) return region;
  region.conditions = RegionLearner(failing, region.failing, passing).conditions(is_told);
  region.passing_inside = count_inside(passing, region);
  return region;
}

// Neighbours, which often are one case with other values, stay together.
std::size_t fold_of(std::size_t position) {
  return static_cast<std::size_t>((position / 2 * 0x9E3779B97F4A7C15U) >> 32U) % kFolds;
}

TraitsList cases_of_fold(const TraitsList& cases, std::size_t fold, bool is_held_back) {
  TraitsList part;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if ((fold_of(i) == fold) == is_held_back) part.push_back(cases[i]);
  }
  return part;
}

// Holds each part of the cases back in turn.
void hold_back(Region& region, const TraitsList& failing, const TraitsList& passing) {
  std::uint64_t right = 0;
  std::uint64_t wrong = 0;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    const Region learnt =
        region_of(cases_of_fold(failing, fold, false), cases_of_fold(passing, fold, false), true, region.elements);
    right += count_inside(of_elements(cases_of_fold(failing, fold, true), region.elements), learnt);
    wrong += count_inside(of_elements(cases_of_fold(passing, fold, true), region.elements), learnt);
  }
  if (right > 0) region.precision = static_cast<double>(right) / static_cast<double>(right + wrong);
  region.recall = static_cast<double>(right) / static_cast<double>(region.failing);
}

}  // namespace

Region learn_region(const TraitsList& failing, const TraitsList& passing) {
  constexpr std::uint32_t kLargeOutputs[] = {16, 128, 1024};
  constexpr double kFewestLarge = 0.1;  // of the failing cases
  const auto learn = [&](std::uint32_t elements) {
    Region region = region_of(failing, passing, true, elements);
    if (region.conditions.empty()) return region;
    hold_back(region, failing, passing);
    const auto inside = static_cast<double>(region.failing + region.passing_inside);
    if (std::min(region.precision, static_cast<double>(region.failing) / inside) < kFewestPrecise)
      region.conditions.clear();
    return region;
  };
  Region region = learn(0);
  for (const std::uint32_t elements : kLargeOutputs) {
    if (!region.conditions.empty()) break;
    Region of_large = learn(elements);
    if (static_cast<double>(of_large.failing) < kFewestLarge * static_cast<double>(failing.size())) break;
    if (!of_large.conditions.empty()) region = std::move(of_large);
  }
  return region;
}

Region common_region(const TraitsList& failing, const TraitsList& passing) {
  return region_of(failing, passing, true, 0);
}

Region suspected_region(const TraitsList& failing, const TraitsList& passing) {
  return region_of(failing, passing, false, 0);
}

}  // namespace qconform::diagnose
