#include "harness/diagnose/explain/explain.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "harness/base/stopwatch.h"
#include "harness/diagnose/explain/candidates.h"
#include "harness/diagnose/explain/experiment.h"
#include "harness/diagnose/explain/learning.h"
#include "harness/diagnose/explain/probes.h"

namespace qconform::diagnose {
namespace {

using Clock = std::chrono::steady_clock;
using Learn = decltype(&learn_region);

// Cases that are run whatever the candidates say of them: they also show what nobody has modelled.
constexpr std::uint64_t kBlindCases = 240;
// The probes get new targets after so many cases.
constexpr std::uint64_t kAimingTurn = 60;
// One further case in so many is run even though the candidates agree on it.
constexpr std::uint64_t kBlindTurn = 8;
// Generated cases in a row that tell no candidates apart, after which none is expected to.
constexpr std::uint64_t kMostIdle = 500;
// Shares of the work that may be spent by the end of each step: gathering, testing pairs, growing larger sets,
// separating, doubting the region.
constexpr double kForGathering = 0.4;
constexpr double kForPairs = 0.6;
constexpr double kForGrowing = 0.65;
constexpr double kForSeparating = 0.8;
constexpr double kForDoubting = 0.85;
// Cases drawn to doubt the region; passing ones outside it, after which it is believed.
constexpr std::uint64_t kDoubts = 1000;
constexpr std::uint64_t kFewestOutside = 400;
// Work of the reference and the judge on one case, in runs of a model.
constexpr std::uint64_t kOfAnObservation = 4;

// Returns the set with another defect in one place; nothing where that does not combine with the others.
std::optional<DefectSet> with_other(DefectSet set, std::size_t position, const Defect& defect) {
  for (std::size_t i = 0; i < set.defects.size(); ++i) {
    if (i == position) continue;
    if (set.defects[i] == &defect || !pair_of(*set.defects[i], defect)) return std::nullopt;
  }
  if (set.defects[position] == &defect) return std::nullopt;
  set.defects[position] = &defect;
  return set;
}

std::vector<DefectSet> with_one_more(const DefectSet& set, const std::vector<const Defect*>& known) {
  std::vector<DefectSet> larger;
  DefectSet grown = set;
  grown.defects.push_back(nullptr);
  for (const Defect* defect : known) {
    if (auto other = with_other(grown, set.defects.size(), *defect)) larger.push_back(std::move(*other));
  }
  return larger;
}

// Drops the sets that the newest observation contradicts.
void eliminate(std::vector<DefectSet>& list, const Observation& observation, const CandidateTest& test,
               const Evidence& evidence) {
  const Observation* const newest[] = {&observation};
  std::vector<const Observation*> ordered;
  std::erase_if(list, [&](DefectSet& candidate) {
    const std::uint64_t legal = candidate.legal;
    const std::size_t arithmetic = candidate.arithmetic;
    if (test.fits(candidate, newest) && candidate.arithmetic == arithmetic && candidate.legal == 0) {
      candidate.legal = legal;
      return false;
    }
    if (ordered.empty()) ordered = in_testing_order(evidence);
    return !test.fits(candidate, ordered);
  });
}

// The features of what was observed, from which the region of the failures is learnt.
class ObservedFeatures {
 public:
  [[nodiscard]] Region region(Learn learn, const Evidence& evidence) {
    std::vector<CaseTraits> failing;
    std::vector<CaseTraits> passing;
    for (std::size_t i = features_.size(); i < evidence.size(); ++i) {
      features_.push_back(features_of(evidence[i]->test_case(), evidence[i]->expected()));
    }
    for (std::size_t i = 0; i < evidence.size(); ++i) {
      (evidence[i]->is_failure() ? failing : passing).push_back(features_[i]);
    }
    return learn(failing, passing);
  }

 private:
  std::vector<CaseTraits> features_;  // of the evidence, as far as they were asked for
};

class ExplanationSearch {
 public:
  ExplanationSearch(std::unique_ptr<Observation> first, const Runner& run, const Policy& policy,
                    const ExplainOptions& options)
      : op_(first->modelled().op()),
        run_(run),
        policy_(policy),
        options_(options),
        probes_(op_, options.seed),
        test_(op_, first->expected().policy, options.base ? &*options.base : nullptr),
        budget_(test_, options.work, options.seconds) {
    for (const Defect* defect : defects_in(op_.name)) {
      const auto& known = options.known;
      if (known.empty() || std::find(known.begin(), known.end(), defect) != known.end()) known_.push_back(defect);
    }
    probes_.add_neighbourhood(first->test_case());
    observed_.insert(digest_of(first->test_case()));
    evidence_.push_back(std::move(first));
    for (const Case& neighbour : options.neighbours) observe(neighbour);
  }

  Explanation run() {
    gather();
    fitting_ = fitting(single_candidates(known_), 1);
    larger_ = fitting(pair_candidates(known_), kForPairs);
    if (fitting_.empty()) fitting_ = std::exchange(larger_, {});
    if (fitting_.empty() && is_complete_) grow();
    // A pair that holds a fitting defect adds one to it; any other pair is no simpler than that.
    if (fitting_.size() == 1 && fitting_[0].defects.size() > 1)
      larger_ = fitting(with_one_more(fitting_[0], known_), kForGrowing);
    separate();
    doubt_region();
    doubt_arithmetic();
    const bool is_known = !fitting_.empty();
    Explanation result = build_explanation();
    const std::uint64_t work = budget_.work();
    if (!is_known && options_.learning_work > 0) learn_model(result);
    describe(result, evidence_, test_);
    // A model that was not tried on enough, and leaves nothing of what it was tried on.
    const bool leaves_nothing = result.support.cases > 0 && result.support.reproduced_cases == result.support.cases;
    if (result.status == Status::partial && leaves_nothing) result.status = Status::reproduced;
    result.region = features_.region(learn_region, evidence_);
    if (result.status <= Status::reproduced) {
      const std::vector<const Observation*> observed = in_testing_order(evidence_);
      result.experiment = experiment_on(test_, result.candidates.front(), observed, known_);
    }
    result.work = work;
    result.seconds = seconds_since(start_);
    return result;
  }

 private:
  // Runs the backend; null where nothing is to be learnt. A case that comes up again is no further evidence.
  const Observation* observe(Case test_case) {
    if (!observed_.insert(digest_of(test_case)).second) return nullptr;
    const auto start = Clock::now();
    const Outcome outcome = run_(test_case);
    budget_.spend_on_backend(seconds_since(start));
    auto observation = Observation::of(std::move(test_case), outcome, policy_);
    if (observation == nullptr) return nullptr;
    budget_.spend(kOfAnObservation * observation->modelled().expense());
    if (observation->is_failure()) probes_.add_neighbourhood(observation->test_case());
    evidence_.push_back(std::move(observation));
    return evidence_.back().get();
  }

  void gather() {
    const std::uint64_t count = std::min(kBlindCases, options_.cases);
    for (; generated_ < count && budget_.is_left(kForGathering); ++generated_) {
      if (generated_ % kAimingTurn == 0) probes_.target(common_corner_cases(op_, failures_of(evidence_)));
      observe(probes_.next());
    }
  }

  // Those that fit. Where the work up to `share` does not suffice for all, nothing is certain any more.
  std::vector<DefectSet> fitting(std::vector<DefectSet> candidates, double share) {
    const std::vector<const Observation*> ordered = in_testing_order(evidence_);
    std::vector<DefectSet> result;
    for (DefectSet& candidate : candidates) {
      std::sort(candidate.defects.begin(), candidate.defects.end());  // in the order of defects(): a set has one name
      is_complete_ = is_complete_ && budget_.is_left(share);
      if (!is_complete_) break;
      if (test_.fits(candidate, ordered)) result.push_back(std::move(candidate));
    }
    return result;
  }

  // Looks for sets of three defects or more. There are too many to try all: it looks for one that has every failure,
  // and then for every set that has another defect in the place of one of its own.
  void grow() {
    constexpr std::size_t kGrownOn = 32;
    std::vector<const Observation*> failing = in_testing_order(evidence_);
    failing.resize(std::min(failures_of(evidence_).size(), kGrownOn));
    const double most = static_cast<double>(budget_.most_work()) * kForGrowing;
    const double left = most - static_cast<double>(budget_.work());
    if (left <= 0) return;
    auto set = reproducing_all(test_, failing, known_, static_cast<std::uint64_t>(left));
    if (!set) return;
    std::vector<DefectSet> candidates{*set};
    for (std::size_t i = 0; i < set->defects.size(); ++i) {
      for (const Defect* defect : known_) {
        if (auto other = with_other(*set, i, *defect)) candidates.push_back(std::move(*other));
      }
    }
    fitting_ = fitting(std::move(candidates), kForGrowing);
  }

  // Whether the candidates that are left give different answers to the case.
  [[nodiscard]] bool disagree_on(const Case& test_case) {
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) return false;
    std::optional<std::optional<Tensor>> first;
    for (const std::vector<DefectSet>* list : {&fitting_, &larger_}) {
      for (const DefectSet& candidate : *list) {
        budget_.spend(modelled->expense());
        std::optional<Tensor> answer = test_.model_of(candidate).run(*modelled);
        if (first && *first != answer) return true;
        if (!first) first = std::move(answer);
      }
    }
    return false;
  }

  [[nodiscard]] bool few_fail() const { return failures_of(evidence_).size() < Support::kFewestFailing; }

  void aim_apart() {
    std::vector<const DefectSet*> all;
    for (const std::vector<DefectSet>* list : {&fitting_, &larger_}) {
      for (const DefectSet& candidate : *list) all.push_back(&candidate);
    }
    std::vector<CornerCase> corner_cases = separating_corner_cases(op_, all, known_, few_fail());
    if (!corner_cases.empty()) probes_.target(std::move(corner_cases));
  }

  // Cases on which the candidates disagree, until one is left or none comes up any more.
  void separate() {
    std::uint64_t idle = 0;
    aim_apart();
    for (; generated_ < options_.cases && budget_.is_left(kForSeparating); ++generated_, ++idle) {
      if (idle >= kMostIdle && !few_fail()) return;
      if (fitting_.size() + larger_.size() < 2 && !few_fail()) return;
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
    eliminate(fitting_, observation, test_, evidence_);
    eliminate(larger_, observation, test_, evidence_);
    if (fitting_.empty()) fitting_ = std::exchange(larger_, {});
  }

  // Doubts the region, since some failures may lack a condition that all so far have in common. Runs cases outside the
  // region until enough of them passed; one that fails corrects the region.
  void doubt_region() {
    Region believed = features_.region(suspected_region, evidence_);
    probes_.target(common_corner_cases(op_, failures_of(evidence_)));
    probes_.stay_near();
    std::uint64_t passed = 0;
    for (std::uint64_t drawn = 0; drawn < kDoubts && passed < kFewestOutside && budget_.is_left(kForDoubting);
         ++drawn) {
      if (believed.conditions.empty()) return;
      Case next = probes_.next();
      Expected expected = expect(next, policy_);
      assess(next, expected);
      const auto modelled = ModelledCase::prepare(next, expected.classification);
      if (modelled == nullptr || !expected.output) continue;
      budget_.spend(kOfAnObservation * modelled->expense());
      if (believed.contains(features_of(next, expected))) continue;
      const Observation* observation = observe(std::move(next));
      if (observation == nullptr) continue;
      learn_from(*observation);
      passed = observation->is_failure() ? 0 : passed + 1;
      if (passed > 0 && passed < kFewestOutside) continue;
      Region fresh = features_.region(suspected_region, evidence_);
      if (fresh.conditions != believed.conditions) passed = 0;
      believed = std::move(fresh);
    }
  }

  // A candidate that is an arithmetic itself. Of others these cases say nothing, and may show a further defect.
  void doubt_arithmetic() {
    for (const Case& test_case : options_.telling) {
      if (fitting_.empty() || test_.choices_for(fitting_.front()) > 1) return;
      if (const Observation* observation = observe(test_case)) learn_from(*observation);
    }
  }

  Explanation build_explanation() {
    Explanation result;
    result.op = &op_;
    if (fitting_.empty()) {
      result.candidates = nearest_set(test_, evidence_, known_, budget_, !options_.nearest);
      result.status = result.candidates.empty() ? Status::unexplained : Status::partial;
      return result;
    }
    // Those that reproduce every byte come before those that leave legal elements aside.
    std::stable_sort(fitting_.begin(), fitting_.end(),
                     [](const DefectSet& a, const DefectSet& b) { return a.legal < b.legal; });
    const bool is_exact = fitting_.front().legal == 0;
    if (is_exact) std::erase_if(fitting_, [](const DefectSet& candidate) { return candidate.legal != 0; });
    const bool is_certain = is_complete_ && !few_fail();
    result.status = !is_exact             ? Status::partial
                    : fitting_.size() > 1 ? Status::ambiguous
                    : is_certain          ? Status::explained
                                          : Status::reproduced;
    result.candidates = std::move(fitting_);
    result.not_excluded = std::move(larger_);
    return result;
  }

  // Nothing that is known explains it: what is found is told only where nothing contradicts it.
  void learn_model(Explanation& result) {
    const auto observe_case = [&](Case test_case) -> const Observation* {
      return budget_.is_backend_left() ? observe(std::move(test_case)) : nullptr;
    };
    Learning learning =
        learn(op_, evidence_, probes_, test_, observe_case, {options_.learning_work, options_.is_explained});
    result.expressions = learning.tried;
    if (learning.candidates.empty()) return;
    const bool is_one = learning.candidates.size() == 1;
    result.status = !is_one ? Status::ambiguous : learning.is_certain ? Status::learnt : Status::reproduced;
    result.candidates = std::move(learning.candidates);
    result.agreed = learning.agreed;
  }

  const Clock::time_point start_ = Clock::now();
  const Operator& op_;
  const Runner& run_;
  const Policy& policy_;
  const ExplainOptions& options_;
  Probes probes_;
  CandidateTest test_;
  Budget budget_;
  std::vector<const Defect*> known_;
  Evidence evidence_;
  std::set<std::uint64_t> observed_;  // digests of the cases that were run
  ObservedFeatures features_;
  std::uint64_t generated_ = 0;
  bool is_complete_ = true;         // every candidate has been tested
  std::vector<DefectSet> fitting_;  // fitting sets, of the smallest size that any has
  std::vector<DefectSet> larger_;   // fitting sets with one defect more
};

}  // namespace

Explanation explain(std::unique_ptr<Observation> observation, const Runner& run, const Policy& policy,
                    const ExplainOptions& options) {
  return ExplanationSearch(std::move(observation), run, policy, options).run();
}

namespace {

bool shows(const CandidateTest& test, DefectSet& defects, const Observation& failure) {
  const Observation* const alone = &failure;
  return test.fits(defects, {&alone, 1});
}

const Arithmetic* base_of(const ExplainOptions& options) {
  return options.base ? &*options.base : nullptr;
}

}  // namespace

std::optional<DefectSet> shown_defects(const Explanation& explanation, const Observation& failure, const Policy& policy,
                                       const ExplainOptions& options) {
  if (explanation.candidates.empty()) return std::nullopt;
  const CandidateTest test(failure.modelled().op(), policy, base_of(options));
  DefectSet shown = explanation.candidates.front();
  if (!shows(test, shown, failure)) return std::nullopt;
  for (std::size_t i = shown.defects.size(); i-- > 0 && shown.defects.size() > 1;) {
    DefectSet fewer = shown;
    fewer.defects.erase(fewer.defects.begin() + static_cast<std::ptrdiff_t>(i));
    if (shows(test, fewer, failure)) shown = std::move(fewer);
  }
  return shown;
}

shrink::HasCause same_cause(const Explanation& explanation, const Observation& failure, const Policy& policy,
                            const ExplainOptions& options) {
  const std::optional<DefectSet> shown = shown_defects(explanation, failure, policy, options);
  if (!shown) return {};
  auto test = std::make_shared<const CandidateTest>(failure.modelled().op(), policy, base_of(options));
  return [test = std::move(test), shown = *shown](const Expected& expected, const Outcome& outcome) mutable {
    const auto observation = Observation::borrowing(*expected.test_case, expected, outcome);
    return observation != nullptr && observation->is_failure() && shows(*test, shown, *observation);
  };
}

}  // namespace qconform::diagnose
