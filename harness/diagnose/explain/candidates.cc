#include "harness/diagnose/explain/candidates.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "harness/operators/convolution/diagnosis.h"

namespace qconform::diagnose {
namespace {

std::string_view name_of_arithmetic(RoundingProfile profile) {
  switch (profile) {
    case RoundingProfile::correctly_rounded: return "correctly-rounded";
    case RoundingProfile::ort_f32: return "ort-f32";
    case RoundingProfile::onnx_reference: return "onnx-reference";
    case RoundingProfile::tflite: return "tflite";
    case RoundingProfile::tflite_single_rounding: break;
  }
  return "tflite-single-rounding";
}

}  // namespace

std::vector<Arithmetic> arithmetics(const Operator& op, const Policy& policy) {
  const RoundingProfile own = arithmetic_of(policy.profile);
  std::vector<Arithmetic> all{{.name = std::string(name_of_arithmetic(own)), .models = {DefectModel(own)}}};
  if (const auto further = family_of("", op.name)->arithmetic.arithmetics) {
    for (Arithmetic& arithmetic : further(op, policy)) all.push_back(std::move(arithmetic));
  }
  return all;
}

CandidateTest::CandidateTest(const Operator& op, const Policy& policy, const Arithmetic* base)
    : arithmetics_(arithmetics(op, policy)), has_base_(base != nullptr) {
  if (base == nullptr) return;
  std::erase_if(arithmetics_, [&](const Arithmetic& one) { return one.name == base->name; });
  arithmetics_.insert(arithmetics_.begin(), *base);
}

std::string DefectSet::name() const {
  std::string text;
  for (const Defect* defect : defects) text += (text.empty() ? "" : "+") + std::string(defect->id);
  return text;
}

NodeModels CandidateTest::model_of(const DefectSet& candidate, std::size_t arithmetic) const {
  NodeModels models = arithmetics_[arithmetic].models;
  for (const Defect* defect : candidate.defects) {
    static_cast<void>(models.common.add(*defect));
    for (auto& [pattern, model] : models.of_kinds) static_cast<void>(model.add(*defect));
  }
  return models;
}

std::size_t CandidateTest::choices_for(const DefectSet& candidate) const {
  std::vector<const StageInfo*> replaced;
  for (const Defect* defect : candidate.defects) {
    const auto stages = replaced_stages(*defect);
    replaced.insert(replaced.end(), stages.begin(), stages.end());
  }
  const auto leaves_nothing = [&](const DefectModel& model) {
    const auto stages = model.original().replaced();
    return std::find_first_of(stages.begin(), stages.end(), replaced.begin(), replaced.end()) != stages.end();
  };
  for (const Arithmetic& arithmetic : arithmetics_) {
    if (leaves_nothing(arithmetic.models.common)) return 1;
    for (const auto& [pattern, model] : arithmetic.models.of_kinds) {
      if (leaves_nothing(model)) return 1;
    }
  }
  return arithmetics_.size();
}

std::optional<std::uint64_t> CandidateTest::legal_under(const DefectSet& candidate, std::size_t arithmetic,
                                                        std::span<const Observation* const> evidence) const {
  const NodeModels model = model_of(candidate, arithmetic);
  std::uint64_t legal = 0;
  for (const Observation* observation : evidence) {
    const Match found = outcome_of(model, *observation);
    legal += found.legal;
    if (!found.holds) return std::nullopt;
  }
  return legal;
}

// First the policy's own arithmetic. The others come into question only where it is off by a step.
bool CandidateTest::fits(DefectSet& candidate, std::span<const Observation* const> evidence) const {
  const NodeModels model = model_of(candidate, candidate.arithmetic);
  const std::size_t choices = choices_for(candidate);
  bool is_exact = true;
  for (const Observation* observation : evidence) {
    const ModelledCase& modelled = observation->modelled();
    if (choices == 1 && is_refuted(*observation, model.of(modelled))) {
      work_ += modelled.expense();  // as a whole run, so that budgets reach as far either way
      return false;
    }
    const Match found = outcome_of(model, *observation);
    if (found.is_exact()) continue;
    const bool may_be_arithmetic =
        choices > 1 && (found.is_near || requantizations_diverge(observation->modelled().lowered()));
    if (!found.holds && !may_be_arithmetic) return false;
    is_exact = false;
    if (!found.holds) break;
  }
  if (is_exact) {
    candidate.legal = 0;
    return true;
  }
  // The first that reproduces every byte; else the first that is contradicted nowhere.
  bool holds = false;
  for (std::size_t a = 0; a < choices; ++a) {
    const auto legal = legal_under(candidate, a, evidence);
    if (!legal || (holds && *legal > 0)) continue;
    holds = true;
    candidate.arithmetic = a;
    candidate.legal = *legal;
    if (*legal == 0) return true;
  }
  return holds;
}

Match CandidateTest::outcome_of(const NodeModels& model, const Observation& observation) const {
  work_ += observation.modelled().expense();
  return match(observation, model.run(observation.modelled()));
}

std::vector<DefectSet> single_candidates(std::span<const Defect* const> defects) {
  std::vector<DefectSet> all;
  for (const Defect* defect : defects) all.push_back({{defect}});
  return all;
}

std::vector<DefectSet> pair_candidates(std::span<const Defect* const> defects) {
  std::vector<DefectSet> all;
  for (std::size_t i = 0; i < defects.size(); ++i) {
    for (std::size_t j = i + 1; j < defects.size(); ++j) {
      if (pair_of(*defects[i], *defects[j])) all.push_back({{defects[i], defects[j]}});
    }
  }
  return all;
}

std::vector<const Observation*> failures_of(const Evidence& evidence) {
  std::vector<const Observation*> failures;
  for (const auto& observation : evidence) {
    if (observation->is_failure()) failures.push_back(observation.get());
  }
  return failures;
}

std::vector<const Observation*> in_testing_order(const Evidence& evidence) {
  std::vector<const Observation*> ordered;
  for (const auto& observation : evidence) ordered.push_back(observation.get());
  std::stable_sort(ordered.begin(), ordered.end(), [](const Observation* a, const Observation* b) {
    return std::tuple(!a->is_failure(), a->work()) < std::tuple(!b->is_failure(), b->work());
  });
  return ordered;
}

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

class CandidateComparison {
 public:
  CandidateComparison(const CandidateTest& test, const Evidence& evidence, const Budget& budget)
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
                                   std::span<const Defect* const> known, const Budget& budget, bool must_reproduce) {
  const CandidateComparison comparison(test, evidence, budget);
  std::vector<DefectSet> single = comparison.best_of(comparison.reproducing_case(single_candidates(known)));
  if (!single.empty()) return single;
  if (must_reproduce) return comparison.best_of(comparison.reproducing_case(pair_candidates(known)));
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
  std::size_t count = 0;         ///< failures that it reproduces
  std::size_t alone = 0;         ///< failures that it reproduces and none of its parts does
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
  if (best.is_exact() || !(best.is_near || requantizations_diverge(observation.modelled().lowered()))) return best;
  for (std::size_t i = 1; i < models_.size(); ++i) {
    const Match found = test.outcome_of(models_[i], observation);
    if (found.is_exact()) return found;
    if (found.holds && !best.holds) best = found;
  }
  return best;
}

bool CandidateModels::may_be_right_on(const Observation& observation) const {
  return std::any_of(models_.begin(), models_.end(), [&](const NodeModels& model) {
    auto predicted = model.run(observation.modelled());
    if (!predicted) return false;
    const Outcome answer = outcome::Produced{std::move(*predicted)};
    const auto observed = Observation::borrowing(observation.test_case(), observation.expected(), answer);
    return observed != nullptr && !observed->is_failure();
  });
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
