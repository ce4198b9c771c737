#include "harness/diagnose/explain.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace qconform::diagnose {
namespace {

using Clock = std::chrono::steady_clock;

// Cases that are run whatever the candidates say of them: they also show what nobody has modelled.
constexpr std::uint64_t kBlindCases = 240;
// The aim of generated cases is set anew after so many of them.
constexpr std::uint64_t kAimingTurn = 60;
// One further case in so many is run even though the candidates agree on it.
constexpr std::uint64_t kBlindTurn = 8;
// Generated cases in a row that tell no candidates apart, after which none is expected to.
constexpr std::uint64_t kMostIdle = 500;
// Failing cases that an explanation rests on at least.
constexpr std::uint64_t kFewestFailing = 3;
// Wrong elements, in parts of them all, that the nearest set explains at least where it is worth naming.
constexpr double kNear = 0.5;
// Of the work, in parts: up to the end of gathering, of testing pairs, of separating, and for each
// comparison that looks for the nearest set.
constexpr double kForGathering = 0.4;
constexpr double kForPairs = 0.6;
constexpr double kForSeparating = 0.8;
constexpr double kForDoubting = 0.9;
constexpr double kForComparing = 0.1;
// Cases drawn to doubt the region; passing ones outside it, after which it is believed.
constexpr std::uint64_t kDoubts = 1000;
constexpr std::uint64_t kFewestOutside = 400;
// What the reference and the judge take of a case, in runs of a model.
constexpr std::uint64_t kOfAnObservation = 4;
// Pairs of the defects that explain most are compared to find the nearest set.
constexpr std::size_t kNearest = 6;
// Sets that reproduce the case in question, of which the best is looked for.
constexpr std::size_t kMostCompared = 30;

// Hazards at which defects in these stages show, and random cases nearly never: rounding and long sums.
std::vector<Hazard> hazards_near(const Defect& defect, Op op) {
  std::vector<Hazard> wanted;
  for (const std::string_view stage : stages_of(defect)) {
    if (stage == "round" || stage == "product" || stage == "quotient") {
      wanted.insert(wanted.end(), {Hazard::tie_positive, Hazard::tie_negative, Hazard::tie_odd_zero_point,
                                   Hazard::near_tie_above, Hazard::near_tie_below});
    }
    if (stage == "accumulate") {
      wanted.insert(wanted.end(), {Hazard::float_accumulation, Hazard::pair_saturation, Hazard::tap_sum_wrap});
    }
    if (stage == "keep") wanted.push_back(Hazard::int32_wrap);
  }
  std::erase_if(wanted, [&](Hazard hazard) { return !info_of(hazard).concerns(name_of(op)); });
  return wanted;
}

class Search {
 public:
  Search(std::unique_ptr<Observation> first, const Runner& run, const Policy& policy, const ExplainOptions& options)
      : op_(first->modelled().op()),
        run_(run),
        policy_(policy),
        options_(options),
        probes_(op_, options.seed),
        test_(op_, first->expected().policy) {
    for (const Defect& defect : defects()) {
      const auto& known = options.known;
      const bool is_known = known.empty() || std::find(known.begin(), known.end(), &defect) != known.end();
      if (is_known && defect.operators.contains(op_)) known_.push_back(&defect);
    }
    probes_.add_neighbourhood(first->test_case());
    evidence_.push_back(std::move(first));
    for (const Case& neighbour : options.neighbours) observe(neighbour);
  }

  Explanation run() {
    gather();
    fitting_ = fitting(single_candidates(known_), 1);
    rivals_ = fitting(pair_candidates(known_), kForPairs);
    if (fitting_.empty()) fitting_ = std::exchange(rivals_, {});
    // A pair that holds a fitting defect adds one to it; any other pair is no simpler than that.
    separate();
    doubt_region();
    Explanation result = conclude();
    describe(result);
    result.work = work();
    result.seconds = seconds_since(start_);
    return result;
  }

 private:
  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  [[nodiscard]] std::uint64_t work() const { return test_.work() + other_work_; }
  // Whether this share of the work is left, and of the backend's time.
  [[nodiscard]] bool may_go_on(double share) const {
    return static_cast<double>(work()) < static_cast<double>(options_.work) * share &&
           backend_seconds_ < options_.seconds * share;
  }

  // Runs the backend; null where nothing is to be learnt.
  const Observation* observe(Case test_case) {
    const auto start = Clock::now();
    const Outcome outcome = run_(test_case);
    backend_seconds_ += seconds_since(start);
    auto observation = Observation::of(std::move(test_case), outcome, policy_);
    if (observation == nullptr) return nullptr;
    other_work_ += kOfAnObservation * observation->modelled().expense();
    if (observation->is_failure()) probes_.add_neighbourhood(observation->test_case());
    evidence_.push_back(std::move(observation));
    return evidence_.back().get();
  }

  void gather() {
    const std::uint64_t count = std::min(kBlindCases, options_.cases);
    for (; generated_ < count && may_go_on(kForGathering); ++generated_) {
      if (generated_ % kAimingTurn == 0) aim();
      observe(probes_.next());
    }
  }

  // At what all failures have in common, and at everything about rounding where they are about ties.
  void aim() {
    std::vector<const Observation*> failing;
    for (const auto& observation : evidence_) {
      if (observation->is_failure()) failing.push_back(observation.get());
    }
    const std::string_view pattern = pattern_of(failing).id;
    const bool is_rounding = pattern == "ties" || pattern == "near-ties";
    std::vector<Hazard> hazards;
    for (const HazardInfo& info : qconform::hazards()) {
      if (!info.concerns(qconform::diagnose::name_of(op_))) continue;
      const bool is_common = std::all_of(failing.begin(), failing.end(), [&](const Observation* observation) {
        return observation->expected().hazards[info.hazard] > 0;
      });
      if (is_common || (is_rounding && info.hazard <= Hazard::near_tie_below)) hazards.push_back(info.hazard);
    }
    probes_.aim_at(std::move(hazards));
  }

  [[nodiscard]] std::uint64_t failing() const {
    return static_cast<std::uint64_t>(std::count_if(evidence_.begin(), evidence_.end(),
                                                    [](const auto& observation) { return observation->is_failure(); }));
  }

  // Those that fit. Where the work up to `share` does not suffice for all, nothing is certain any more.
  std::vector<DefectSet> fitting(std::vector<DefectSet> candidates, double share) {
    const std::vector<const Observation*> ordered = in_testing_order(evidence_);
    std::vector<DefectSet> result;
    for (DefectSet& candidate : candidates) {
      is_complete_ = is_complete_ && may_go_on(share);
      if (!is_complete_) break;
      if (test_.fits(candidate, ordered)) result.push_back(std::move(candidate));
    }
    return result;
  }

  // Whether the candidates that are left give different answers to the case.
  [[nodiscard]] bool disagree_on(const Case& test_case) {
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) return false;
    std::optional<std::optional<Tensor>> first;
    for (const std::vector<DefectSet>* list : {&fitting_, &rivals_}) {
      for (const DefectSet& candidate : *list) {
        other_work_ += modelled->expense();
        std::optional<Tensor> answer = modelled->run(test_.model_of(candidate));
        if (first && *first != answer) return true;
        if (!first) first = std::move(answer);
      }
    }
    return false;
  }

  void eliminate(std::vector<DefectSet>& list, const Observation& observation) {
    const Observation* const newest[] = {&observation};
    std::vector<const Observation*> ordered;
    std::erase_if(list, [&](DefectSet& candidate) {
      const std::uint64_t legal = candidate.legal;
      const std::size_t arithmetic = candidate.arithmetic;
      if (test_.fits(candidate, newest) && candidate.arithmetic == arithmetic && candidate.legal == 0) {
        candidate.legal = legal;
        return false;
      }
      if (ordered.empty()) ordered = in_testing_order(evidence_);
      return !test_.fits(candidate, ordered);
    });
  }

  // At what sets apart defects that some of the candidates have and others lack; at all of their defects
  // while few cases fail.
  void aim_apart() {
    std::vector<const DefectSet*> all;
    for (const std::vector<DefectSet>* list : {&fitting_, &rivals_}) {
      for (const DefectSet& candidate : *list) all.push_back(&candidate);
    }
    std::vector<Hazard> hazards;
    for (const Defect* defect : known_) {
      const auto has_it = [&](const DefectSet* candidate) {
        return std::find(candidate->defects.begin(), candidate->defects.end(), defect) != candidate->defects.end();
      };
      const auto with = std::count_if(all.begin(), all.end(), has_it);
      const bool is_common = with == static_cast<std::ptrdiff_t>(all.size()) && failing() >= kFewestFailing;
      if (with == 0 || is_common) continue;
      for (const Hazard hazard : hazards_near(*defect, op_)) hazards.push_back(hazard);
    }
    if (!hazards.empty()) probes_.aim_at(std::move(hazards));
  }

  // Cases on which the candidates disagree, until one is left or none comes up any more.
  void separate() {
    std::uint64_t idle = 0;
    aim_apart();
    for (; generated_ < options_.cases && may_go_on(kForSeparating); ++generated_, ++idle) {
      if (idle >= kMostIdle && failing() >= kFewestFailing) return;
      if (fitting_.size() + rivals_.size() < 2 && failing() >= kFewestFailing) return;
      Case next = probes_.next();
      const bool tells = disagree_on(next);
      if (tells) idle = 0;
      if (!tells && generated_ % kBlindTurn != 0) continue;
      const Observation* observation = observe(std::move(next));
      if (observation == nullptr) continue;
      learn_from(*observation);
      if (tells) aim_apart();
    }
  }

  void learn_from(const Observation& observation) {
    eliminate(fitting_, observation);
    eliminate(rivals_, observation);
    if (fitting_.empty()) fitting_ = std::exchange(rivals_, {});
  }

  [[nodiscard]] Region region() {
    std::vector<FeatureSet> failing;
    std::vector<FeatureSet> passing;
    for (std::size_t i = features_.size(); i < evidence_.size(); ++i) {
      features_.push_back(features_of(evidence_[i]->test_case(), evidence_[i]->expected()));
    }
    for (std::size_t i = 0; i < evidence_.size(); ++i) {
      (evidence_[i]->is_failure() ? failing : passing).push_back(features_[i]);
    }
    return learn_region(failing, passing);
  }

  // What all failures so far have in common some may lack. Cases outside the region are run until enough
  // of them passed; one that fails corrects the region.
  void doubt_region() {
    Region believed = region();
    probes_.aim_at({});
    probes_.stay_near();
    std::uint64_t passed = 0;
    for (std::uint64_t drawn = 0; drawn < kDoubts && passed < kFewestOutside && may_go_on(kForDoubting); ++drawn) {
      if (believed.conditions.empty()) return;
      Case next = probes_.next();
      Expected expected = expect(next, policy_);
      assess(next, expected);
      const auto modelled = ModelledCase::prepare(next, expected.classification);
      if (modelled == nullptr || !expected.output) continue;
      other_work_ += kOfAnObservation * modelled->expense();
      if (believed.contains(features_of(next, expected))) continue;
      const Observation* observation = observe(std::move(next));
      if (observation == nullptr) continue;
      learn_from(*observation);
      if (observation->is_failure()) believed = region();
      passed = observation->is_failure() ? 0 : passed + 1;
    }
  }

  Explanation conclude() {
    Explanation result;
    result.op = op_;
    if (fitting_.empty()) {
      result.candidates = nearest();
      result.status = result.candidates.empty() ? Status::unexplained : Status::partial;
      return result;
    }
    // Those that reproduce every byte come before those that leave legal elements aside.
    std::stable_sort(fitting_.begin(), fitting_.end(),
                     [](const DefectSet& a, const DefectSet& b) { return a.legal < b.legal; });
    const bool is_exact = fitting_.front().legal == 0;
    if (is_exact) std::erase_if(fitting_, [](const DefectSet& candidate) { return candidate.legal != 0; });
    const bool is_certain = is_exact && is_complete_ && failing() >= kFewestFailing;
    result.status = !is_certain ? Status::partial : fitting_.size() == 1 ? Status::explained : Status::ambiguous;
    result.candidates = std::move(fitting_);
    result.not_excluded = std::move(rivals_);
    return result;
  }

  struct Score {
    DefectSet candidate;
    double share;
  };

  // Wrong elements explained less those made wrong, in parts of the wrong ones.
  [[nodiscard]] double share_of(const DefectSet& candidate, std::span<const Observation* const> evidence) const {
    const Model model = test_.model_of(candidate);
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
    const auto failures = static_cast<std::size_t>(failing());
    const double most = static_cast<double>(options_.work) * kForComparing;
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

  // Those that reproduce every element of the case in question.
  [[nodiscard]] std::vector<DefectSet> reproducing_case(std::vector<DefectSet> candidates) const {
    const Observation* const first[] = {evidence_.front().get()};
    std::erase_if(candidates, [&](DefectSet& candidate) { return !may_go_on(1) || !test_.fits(candidate, first); });
    return candidates;
  }

  // The best of those that explain more than they contradict.
  [[nodiscard]] std::vector<DefectSet> best_of(std::vector<DefectSet> candidates) const {
    if (candidates.size() > kMostCompared) candidates.resize(kMostCompared);
    std::vector<Score> scores = scored(std::move(candidates));
    if (scores.empty() || scores.front().share <= 0) return {};
    return {std::move(scores.front().candidate)};
  }

  [[nodiscard]] std::vector<DefectSet> nearest() const {
    std::vector<DefectSet> single = best_of(reproducing_case(single_candidates(known_)));
    if (!single.empty()) return single;
    std::vector<Score> singles = scored(single_candidates(known_));
    if (singles.empty()) return {};
    std::vector<const Defect*> best;
    for (std::size_t i = 0; i < std::min(kNearest, singles.size()); ++i) {
      best.push_back(singles[i].candidate.defects[0]);
    }
    std::vector<Score> pairs = scored(pair_candidates(best));
    const bool pair_is_better = !pairs.empty() && pairs.front().share > singles.front().share;
    Score& winner = pair_is_better ? pairs.front() : singles.front();
    if (winner.share >= kNear) return {std::move(winner.candidate)};
    return best_of(reproducing_case(pair_candidates(known_)));
  }

  void describe(Explanation& result) {
    std::vector<const Observation*> all;
    for (const auto& observation : evidence_) {
      all.push_back(observation.get());
      result.support.elements += static_cast<std::uint64_t>(observation->got().elements());
      result.support.wrong += observation->wrong_elements();
    }
    result.support.cases = all.size();
    result.support.failing = failing();
    const Observation* const first[] = {all.front()};
    result.pattern = pattern_of(all);
    result.pattern_of_case = pattern_of(first);
    result.errors = errors_of(first);
    result.region = region();
    if (!result.candidates.empty()) support(result);
  }

  void support(Explanation& result) const {
    const DefectSet& best = result.candidates.front();
    const Model model = test_.model_of(best);
    result.arithmetic = test_.known_arithmetics()[best.arithmetic].name;
    for (const auto& observation : evidence_) {
      const Match found = test_.outcome_of(model, *observation);
      result.support.reproduced_cases += found.holds ? 1 : 0;
      result.support.explained += found.explained;
      result.support.broken += found.broken;
      result.support.legal += found.legal;
      if (observation == evidence_.front()) result.support.reproduces_case = found.holds;
    }
  }

  const Clock::time_point start_ = Clock::now();
  Op op_;
  const Runner& run_;
  const Policy& policy_;
  const ExplainOptions& options_;
  Probes probes_;
  CandidateTest test_;
  std::vector<const Defect*> known_;
  Evidence evidence_;
  std::vector<FeatureSet> features_;  // of the evidence, as far as they were asked for
  std::uint64_t generated_ = 0;
  std::uint64_t other_work_ = 0;  // beside that of test_
  double backend_seconds_ = 0;
  bool is_complete_ = true;         // every candidate has been tested
  std::vector<DefectSet> fitting_;  // of the smallest size that fits at all
  std::vector<DefectSet> rivals_;   // pairs, where single defects fit
};

}  // namespace

std::string_view name_of(Status status) {
  switch (status) {
    case Status::explained: return "explained";
    case Status::ambiguous: return "ambiguous";
    case Status::partial: return "partial";
    case Status::unexplained: break;
  }
  return "unexplained";
}

std::string Explanation::signature() const {
  if (status == Status::partial && support.reproduces_case) return "partial:" + candidates.front().name();
  if (status != Status::explained && status != Status::ambiguous) return "unexplained:" + std::string(place().id);
  std::vector<std::string> names;
  for (const DefectSet& candidate : candidates) names.push_back(candidate.name());
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "|") + name;
  return text;
}

std::optional<Model> Explanation::model(const Policy& policy) const {
  if (candidates.empty() || (status == Status::partial && !support.reproduces_case)) return std::nullopt;
  return CandidateTest(op, policy).model_of(candidates.front());
}

Explanation explain(std::unique_ptr<Observation> observation, const Runner& run, const Policy& policy,
                    const ExplainOptions& options) {
  return Search(std::move(observation), run, policy, options).run();
}

}  // namespace qconform::diagnose
