#include "harness/diagnose/explain/nearest_set.h"

#include <algorithm>
#include <utility>

namespace qconform::diagnose {
namespace {

// Wrong elements, in parts of them all, that the nearest set explains at least where it is worth naming.
constexpr double kNear = 0.5;
// Shares that one comparison of candidates may take at most: of the whole work, and of the work that is left.
constexpr double kForComparing = 0.1;
constexpr double kOfTheRest = 0.4;
// Share of the work that may be spent by the end of looking for sets that reproduce the case in question.
constexpr double kForReproducing = 0.95;
// Pairs of the defects that explain most are compared to find the nearest set.
constexpr std::size_t kNearest = 6;
// Sets that reproduce the case in question, of which the best is looked for.
constexpr std::size_t kMostCompared = 30;

struct Score {
  DefectSet candidate;
  double share;
};

class Comparison {
 public:
  Comparison(const CandidateTest& test, const Evidence& evidence, const Budget& budget)
      : test_(test), evidence_(evidence), budget_(budget) {}

  // Those that reproduce every element of the case in question.
  [[nodiscard]] std::vector<DefectSet> reproducing_case(std::vector<DefectSet> candidates) const {
    const Observation* const first[] = {evidence_.front().get()};
    std::erase_if(candidates, [&](DefectSet& candidate) {
      return !budget_.is_left(kForReproducing) || !test_.fits(candidate, first);
    });
    return candidates;
  }

  // The best of those that explain more than they contradict.
  [[nodiscard]] std::vector<DefectSet> best_of(std::vector<DefectSet> candidates) const {
    if (candidates.size() > kMostCompared) candidates.resize(kMostCompared);
    std::vector<Score> scores = scored(std::move(candidates));
    if (scores.empty() || scores.front().share <= 0) return {};
    return {std::move(scores.front().candidate)};
  }

  [[nodiscard]] std::vector<Score> scored(std::vector<DefectSet> candidates) const {
    const std::vector<const Observation*> evidence = comparable(candidates.size());
    std::vector<Score> scores;
    for (DefectSet& candidate : candidates) {
      const double share = share_of(candidate, evidence);
      scores.push_back({std::move(candidate), share});
    }
    std::stable_sort(scores.begin(), scores.end(), [](const Score& a, const Score& b) { return a.share > b.share; });
    return scores;
  }

 private:
  // Wrong elements explained less those made wrong, in parts of the wrong ones.
  [[nodiscard]] double share_of(const DefectSet& candidate, std::span<const Observation* const> evidence) const {
    const NodeModels model = test_.model_of(candidate);
    std::uint64_t wrong = 0;
    double gained = 0;
    for (const Observation* observation : evidence) {
      const Match found = test_.outcome_of(model, *observation);
      gained += static_cast<double>(found.explained) - static_cast<double>(found.broken);
      wrong += observation->wrong_elements();
    }
    return gained / static_cast<double>(std::max<std::uint64_t>(wrong, 1));
  }

  // As many cases as so many candidates can be compared on, by turns small failing and small passing ones.
  [[nodiscard]] std::vector<const Observation*> comparable(std::size_t candidates) const {
    const std::vector<const Observation*> ordered = in_testing_order(evidence_);
    const std::size_t failures = failures_of(evidence_).size();
    const auto all = static_cast<double>(budget_.most_work());
    const double rest = std::max(all - static_cast<double>(budget_.work()), 0.0);
    const double most = std::min(all * kForComparing, rest * kOfTheRest);
    std::vector<const Observation*> chosen;
    double work = 0;
    const auto choose = [&](const Observation* observation) {
      work += static_cast<double>(observation->modelled().expense() * candidates);
      if (chosen.empty() || work <= most) chosen.push_back(observation);
    };
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      if (i < failures) choose(ordered[i]);
      if (failures + i < ordered.size()) choose(ordered[failures + i]);
    }
    return chosen;
  }

  const CandidateTest& test_;
  const Evidence& evidence_;
  const Budget& budget_;
};

}  // namespace

std::vector<DefectSet> nearest_set(const CandidateTest& test, const Evidence& evidence,
                                   std::span<const Defect* const> known, const Budget& budget) {
  const Comparison comparison(test, evidence, budget);
  std::vector<DefectSet> single = comparison.best_of(comparison.reproducing_case(single_candidates(known)));
  if (!single.empty()) return single;
  std::vector<Score> singles = comparison.scored(single_candidates(known));
  if (singles.empty()) return {};
  std::vector<const Defect*> best;
  for (std::size_t i = 0; i < std::min(kNearest, singles.size()); ++i) {
    best.push_back(singles[i].candidate.defects[0]);
  }
  std::vector<Score> pairs = comparison.scored(pair_candidates(best));
  const bool pair_is_better = !pairs.empty() && pairs.front().share > singles.front().share;
  Score& winner = pair_is_better ? pairs.front() : singles.front();
  if (winner.share >= kNear) return {std::move(winner.candidate)};
  return comparison.best_of(comparison.reproducing_case(pair_candidates(known)));
}

}  // namespace qconform::diagnose
