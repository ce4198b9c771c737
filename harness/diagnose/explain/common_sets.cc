#include "harness/diagnose/explain/common_sets.h"

#include <algorithm>
#include <utility>

namespace qconform::diagnose {
namespace {

// Sets of one size that are extended by one defect more.
constexpr std::size_t kExtended = 6;
// Sets that reproduce as many failures as any, of which the one is taken that fits the passing cases best.
constexpr std::size_t kCompared = 12;
// So many times as many failures a larger set has to reproduce, and as many at least.
constexpr std::size_t kWorthADefect = 2;
constexpr std::size_t kFewest = 3;

struct Scored {
  DefectSet set;
  std::vector<bool> reproduced;  ///< by failure
  std::size_t count = 0;         ///< of these
  std::size_t alone = 0;         ///< of these, those that none of its parts reproduces
  double gain = 0;               ///< wrong elements explained less others broken, in parts of each failure's
};

class CommonSetSearch {
 public:
  CommonSetSearch(const CandidateTest& test, std::span<const Observation* const> failing,
                  std::span<const Observation* const> passing, std::uint64_t work)
      : test_(test), failing_(failing), passing_(passing), last_work_(test.work() + work) {}

  [[nodiscard]] std::optional<DefectSet> grown(std::span<const Defect* const> known) {
    try_singles(known);
    std::vector<Scored> level = singles_;
    for (std::size_t size = 2; size <= kMostDefects && test_.work() < last_work_; ++size) {
      level = extended(level);
      const auto all =
          std::find_if(level.begin(), level.end(), [&](const Scored& one) { return one.count == failing_.size(); });
      if (size >= 3 && all != level.end()) return std::move(all->set);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<DefectSet> run(std::span<const Defect* const> known) {
    try_singles(known);
    std::vector<Scored> level = singles_;
    const Scored* first = best_of(level);
    if (first == nullptr) return std::nullopt;
    Scored best = *first;
    for (std::size_t size = 2; size <= kMostDefects && test_.work() < last_work_; ++size) {
      if (best.count * kWorthADefect > failing_.size()) break;
      level = extended(level);
      const Scored* larger = best_of(level);
      if (larger == nullptr) break;
      const std::size_t fewest = best.count == 0 ? 1 : std::max(kFewest, kWorthADefect * best.count);
      if (larger->alone >= fewest) best = *larger;
    }
    return best.count == 0 ? std::nullopt : std::optional(std::move(best.set));
  }

 private:
  void try_singles(std::span<const Defect* const> known) {
    for (const Defect* defect : known) {
      singles_.push_back(scored({{defect}}));
      singles_.back().alone = singles_.back().count;
    }
  }

  [[nodiscard]] Scored scored(DefectSet set) const {
    Scored result{std::move(set), std::vector<bool>(failing_.size()), 0, 0, 0};
    const CandidateModels models(test_, result.set);
    for (std::size_t i = 0; i < failing_.size(); ++i) {
      const Match found = models.match(test_, *failing_[i]);
      result.reproduced[i] = found.holds;
      result.count += found.holds ? 1 : 0;
      const auto wrong = static_cast<double>(std::max<std::uint64_t>(failing_[i]->wrong_elements(), 1));
      result.gain += (static_cast<double>(found.explained) - static_cast<double>(found.broken)) / wrong;
    }
    return result;
  }

  // The sets that come nearest, each with every further defect that combines with it.
  [[nodiscard]] std::vector<Scored> extended(std::vector<Scored>& sets) const {
    std::stable_sort(sets.begin(), sets.end(), [](const Scored& a, const Scored& b) {
      return std::pair(a.count, a.gain) > std::pair(b.count, b.gain);
    });
    std::vector<Scored> result;
    for (std::size_t i = 0; i < std::min(kExtended, sets.size()); ++i) {
      for (const Scored& single : singles_) {
        if (test_.work() >= last_work_) return result;
        if (auto larger = joined(sets[i], single)) result.push_back(std::move(*larger));
      }
    }
    return result;
  }

  [[nodiscard]] std::optional<Scored> joined(const Scored& set, const Scored& single) const {
    const Defect* const added = single.set.defects.front();
    const auto combines = [&](const Defect* defect) { return defect != added && pair_of(*defect, *added).has_value(); };
    if (!std::all_of(set.set.defects.begin(), set.set.defects.end(), combines)) return std::nullopt;
    DefectSet larger = set.set;
    larger.defects.push_back(added);
    Scored result = scored(std::move(larger));
    for (std::size_t i = 0; i < failing_.size(); ++i) {
      result.alone += result.reproduced[i] && !set.reproduced[i] && !single.reproduced[i] ? 1 : 0;
    }
    return result;
  }

  // Null where there are none.
  [[nodiscard]] const Scored* best_of(const std::vector<Scored>& sets) const {
    std::size_t most = 0;
    for (const Scored& one : sets) most = std::max(most, one.alone);
    const Scored* best = nullptr;
    std::size_t fewest = 0;
    std::size_t compared = 0;
    for (const Scored& one : sets) {
      if (one.alone != most || compared == kCompared) continue;
      ++compared;
      const std::size_t contradicted = contradicted_by(one.set);
      if (best != nullptr && contradicted >= fewest) continue;
      best = &one;
      fewest = contradicted;
    }
    return best;
  }

  [[nodiscard]] std::size_t contradicted_by(const DefectSet& set) const {
    const CandidateModels models(test_, set);
    return static_cast<std::size_t>(
        std::count_if(passing_.begin(), passing_.end(),
                      [&](const Observation* observation) { return !models.match(test_, *observation).holds; }));
  }

  const CandidateTest& test_;
  std::span<const Observation* const> failing_;
  std::span<const Observation* const> passing_;
  std::uint64_t last_work_;
  std::vector<Scored> singles_;
};

}  // namespace

CandidateModels::CandidateModels(const CandidateTest& test, const DefectSet& candidate) {
  const std::size_t choices = test.choices_for(candidate);
  for (std::size_t i = 0; i < choices; ++i) models_.push_back(test.model_of(candidate, i));
}

Match CandidateModels::match(const CandidateTest& test, const Observation& observation) const {
  Match best = test.outcome_of(models_.front(), observation);
  if (best.is_exact() || !(best.is_near || test.arithmetics_diverge(observation))) return best;
  for (std::size_t i = 1; i < models_.size(); ++i) {
    const Match found = test.outcome_of(models_[i], observation);
    if (found.is_exact()) return found;
    if (found.holds && !best.holds) best = found;
  }
  return best;
}

std::optional<DefectSet> most_reproducing(const CandidateTest& test, std::span<const Observation* const> failing,
                                          std::span<const Observation* const> passing,
                                          std::span<const Defect* const> known, std::uint64_t work) {
  return CommonSetSearch(test, failing, passing, work).run(known);
}

std::optional<DefectSet> reproducing_all(const CandidateTest& test, std::span<const Observation* const> failing,
                                         std::span<const Defect* const> known, std::uint64_t work) {
  return CommonSetSearch(test, failing, {}, work).grown(known);
}

}  // namespace qconform::diagnose
