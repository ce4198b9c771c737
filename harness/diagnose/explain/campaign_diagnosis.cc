#include "harness/diagnose/explain/campaign_diagnosis.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "harness/engine/execute.h"

namespace qconform::diagnose {
namespace {

// Keeps the first ones, and then takes turns in replacing them, so that late cases have their share.
void keep(std::vector<FeatureSet>& kept, std::uint64_t number, const FeatureSet& features) {
  if (kept.size() < CampaignDiagnosis::kLearnt) {
    kept.push_back(features);
  } else {
    kept[number % kept.size()] = features;
  }
}

DiagnosedDefect diagnosed(const Defect& defect) {
  std::string stages;
  for (const std::string_view stage : stages_of(defect)) stages += (stages.empty() ? "" : ", ") + std::string(stage);
  return {std::string(defect.id), std::string(defect.description), std::string(defect.rule), std::move(stages),
          std::string(defect.evidence)};
}

// One that outlives the case.
std::unique_ptr<Observation> copy_of(const Observation& observation) {
  return Observation::of(observation.test_case(), outcome::Produced{observation.got()}, observation.expected().policy);
}

// Nothing contradicts it, but too little speaks for it, or for another one as much.
bool is_in_doubt(const Explanation& explanation) {
  const Support& support = explanation.support;
  return explanation.status == Status::ambiguous ||
         (explanation.status == Status::partial && support.reproduced_cases == support.cases);
}

template <typename T>
void append(std::vector<T>& list, std::vector<T>& more) {
  std::move(more.begin(), more.end(), std::back_inserter(list));
}

}  // namespace

void CampaignDiagnosis::passed(std::size_t backend, const Case& test_case, const Expected& expected) {
  if (!expected.output) return;
  Subject& subject = subjects_[{backend, test_case.op_types()}];
  const std::uint64_t number = subject.passed++;
  // Features cost a part of what judging costs.
  constexpr std::uint64_t kTurn = 16;
  if (number >= kLearnt && number % kTurn != 0) return;
  keep(subject.passing, number < kLearnt ? number : number / kTurn, features_of(test_case, expected));
}

CampaignDiagnosis::Group& CampaignDiagnosis::group_named(Subject& subject, const std::string& signature) {
  for (Group& group : subject.groups) {
    if (group.signature == signature) return group;
  }
  subject.groups.emplace_back();
  subject.groups.back().signature = signature;
  return subject.groups.back();
}

bool CampaignDiagnosis::belongs(const Group& group, const Observation& observation) {
  return group.model ? match(observation, observation.modelled().run(*group.model)).holds
                     : lies_in(observation, group.pattern);
}

// The explanation that reproduces the output.
CampaignDiagnosis::Group* CampaignDiagnosis::claiming(Subject& subject, const Observation& observation) {
  const auto found = std::find_if(subject.groups.begin(), subject.groups.end(),
                                  [&](const Group& group) { return group.model && belongs(group, observation); });
  return found == subject.groups.end() ? nullptr : &*found;
}

Explanation CampaignDiagnosis::explain_case(Backend& backend, const Observation& observation,
                                            const ExplainOptions& options) {
  GuardedOutput output;
  // Every run that times out takes as long as it may: after a few nothing is run any more.
  constexpr int kMostTimedOut = 5;
  int timed_out = 0;
  const Runner run = [&](const Case& test_case) -> Outcome {
    if (timed_out >= kMostTimedOut) return outcome::Unsupported{"too many cases timed out"};
    Outcome outcome = execute(backend, test_case, output);
    if (std::holds_alternative<outcome::TimedOut>(outcome)) ++timed_out;
    return outcome;
  };
  return explain(copy_of(observation), run, observation.expected().policy, options);
}

void CampaignDiagnosis::Group::explain_by(Explanation found, const Policy& policy) {
  pattern = found.place().id;
  where = found.place().description;
  model = found.model(policy);
  explanation = std::move(found);
}

void CampaignDiagnosis::keep_case(Group& group, const Observation& observation) {
  const std::uint64_t number = group.examined;
  const bool is_due = group.kept.size() < kKept || std::has_single_bit(number);
  if (!is_due || observation.modelled().expense() > kKeptExpense) return;
  auto copy = copy_of(observation);
  if (copy == nullptr) return;
  if (group.kept.size() < kKept) {
    group.kept.push_back(std::move(copy));
  } else {
    constexpr std::size_t kReplaced = kKept / 2;
    group.kept[kReplaced + static_cast<std::size_t>(std::countr_zero(number)) % kReplaced] = std::move(copy);
  }
}

CampaignDiagnosis::Group& CampaignDiagnosis::unexplained(Subject& subject, const Observation& observation) {
  Group* widest = nullptr;
  for (Group& group : subject.groups) {
    if (group.model || !belongs(group, observation)) continue;
    if (group.pattern != "everywhere") return group;
    widest = &group;
  }
  if (widest != nullptr) return *widest;
  const Observation* const alone[] = {&observation};
  const Pattern pattern = pattern_of(alone);
  Group& group = group_named(subject, "unexplained:" + std::string(pattern.id));
  group.pattern = pattern.id;
  group.where = pattern.description;
  return group;
}

CampaignDiagnosis::Group& CampaignDiagnosis::examine(Subject& subject, Backend& backend,
                                                     const Observation& observation) {
  if (Group* group = claiming(subject, observation)) return *group;
  if (subject.explanations >= kExplanations) return unexplained(subject, observation);
  Explanation explanation = explain_case(backend, observation, each_);
  subject.explanations += explanation.candidates.empty() ? 3 : explanation.status == Status::partial ? 2 : 1;
  Group& group = group_named(subject, explanation.signature());
  if (!group.explanation) group.explain_by(std::move(explanation), observation.expected().policy);
  return group;
}

std::string CampaignDiagnosis::failed(std::size_t backend, const Case& test_case, const Expected& expected,
                                      const Outcome& outcome, const Verdict& verdict) {
  if (verdict.kind != VerdictKind::wrong && verdict.kind != VerdictKind::bad_shape) return {};
  const auto observation = Observation::borrowing(test_case, expected, outcome);
  if (observation == nullptr || !observation->is_failure()) return {};
  Subject& subject = subjects_[{backend, test_case.op_types()}];
  const std::uint64_t number = subject.failed++;
  if (number >= kExamined && number % kExaminedAfterwards != 0) {
    const auto commonest = std::max_element(subject.groups.begin(), subject.groups.end(),
                                            [](const Group& a, const Group& b) { return a.cases < b.cases; });
    ++commonest->cases;
    return commonest->signature;
  }
  Group& group = examine(subject, *backends_[backend], *observation);
  keep_case(group, *observation);
  ++group.cases;
  keep(group.failing, group.examined++, features_of(test_case, expected));
  return group.signature;
}

bool CampaignDiagnosis::Group::is_reproduced_by(const Model& other) const {
  return !kept.empty() && std::all_of(kept.begin(), kept.end(), [&](const auto& observation) {
    return match(*observation, observation->modelled().run(other)).holds;
  });
}

void CampaignDiagnosis::Group::take_over(Group other) {
  cases += other.cases;
  examined += other.examined;
  append(failing, other.failing);
  if (failing.size() > kLearnt) failing.resize(kLearnt);
  append(smallest, other.smallest);
  append(kept, other.kept);
}

bool CampaignDiagnosis::explains_both(const Group& group, const Group& other) {
  if (group.signature == other.signature) return true;
  if (!group.model) return false;
  const Status status = other.explanation ? other.explanation->status : Status::unexplained;
  return group.explanation->status <= status && other.is_reproduced_by(*group.model);
}

bool CampaignDiagnosis::unite_two(Subject& subject) {
  std::vector<Group>& groups = subject.groups;
  for (Group& group : groups) {
    const auto other = std::find_if(groups.begin(), groups.end(), [&](const Group& candidate) {
      return &candidate != &group && explains_both(group, candidate);
    });
    if (other == groups.end()) continue;
    subject.rename(other->signature, group.signature);
    group.take_over(std::move(*other));
    groups.erase(other);
    return true;
  }
  return false;
}

// The best explanations, and of these the commonest, come first: they have the first choice.
void CampaignDiagnosis::unite_groups(Subject& subject) {
  const auto rank = [](const Group& group) {
    return std::pair(group.model ? group.explanation->status : Status::unexplained, ~group.cases);
  };
  std::stable_sort(subject.groups.begin(), subject.groups.end(),
                   [&](const Group& a, const Group& b) { return rank(a) < rank(b); });
  while (unite_two(subject)) {
  }
}

void CampaignDiagnosis::Subject::rename(const std::string& from, const std::string& to) {
  for (auto& [before, now] : settled) {
    if (now == from) now = to;
  }
  if (from != to) settled[from] = to;
}

// With all that was kept of the group.
void CampaignDiagnosis::explain_again(Subject& subject, Group& group, Backend& backend) const {
  if (group.kept.empty() || !group.model || !is_in_doubt(*group.explanation)) return;
  ExplainOptions options = each_;
  for (auto other = group.kept.begin() + 1; other != group.kept.end(); ++other) {
    options.neighbours.push_back((*other)->test_case());
  }
  const Observation& first = *group.kept.front();
  Explanation again = explain_case(backend, first, options);
  const auto model = again.model(first.expected().policy);
  if (again.status >= group.explanation->status || !group.is_reproduced_by(*model)) return;
  subject.rename(group.signature, again.signature());
  group.signature = again.signature();
  group.explain_by(std::move(again), first.expected().policy);
}

std::string CampaignDiagnosis::settled(std::size_t backend, const std::string& op_type, const std::string& signature) {
  const auto found = subjects_.find({backend, op_type});
  if (found == subjects_.end()) return signature;
  Subject& subject = found->second;
  if (!std::exchange(subject.is_settled, true)) {
    unite_groups(subject);
    for (Group& group : subject.groups) explain_again(subject, group, *backends_[backend]);
    unite_groups(subject);
  }
  const auto renamed = subject.settled.find(signature);
  return renamed == subject.settled.end() ? signature : renamed->second;
}

void CampaignDiagnosis::learn(std::size_t backend, const std::string& op_type, const std::string& signature,
                              Learnt learnt) {
  Subject& subject = subjects_[{backend, op_type}];
  subject.passing = std::move(learnt.passing);
  for (Group& group : subject.groups) {
    if (group.signature != signature) continue;
    group.examined = learnt.examined;
    group.failing = std::move(learnt.failing);
  }
}

void CampaignDiagnosis::refine(Finding& finding, std::size_t backend) {
  const auto subject = subjects_.find({backend, finding.op_type});
  if (!finding.diagnosis || subject == subjects_.end()) return;
  GuardedOutput output;
  const Outcome outcome = execute(*backends_[backend], finding.example, output);
  Expected expected = expect(finding.example, policy_);
  assess(finding.example, expected);
  const auto observation = Observation::borrowing(finding.example, expected, outcome);
  if (observation == nullptr || !observation->is_failure()) return;
  for (Group& group : subject->second.groups) {
    if (group.signature != finding.signature || !belongs(group, *observation)) continue;
    group.smallest.push_back(features_of(finding.example, expected));
    finding.diagnosis = diagnosis(backend, finding.op_type, finding.signature);
  }
}

// Where the suite has too few cases, those that the explanation was tried on may tell.
Region CampaignDiagnosis::region_of(const Subject& subject, const Group& group) {
  std::vector<FeatureSet> failing = group.failing;
  failing.insert(failing.end(), group.smallest.begin(), group.smallest.end());
  Region region = learn_region(failing, subject.passing);
  region.failing = group.failing.size();
  if (!region.conditions.empty() || !group.explanation) return region;
  const Region& tried = group.explanation->region;
  const bool holds =
      std::all_of(failing.begin(), failing.end(), [&](const FeatureSet& features) { return tried.contains(features); });
  return holds && !tried.conditions.empty() ? tried : region;
}

std::optional<Diagnosis> CampaignDiagnosis::diagnosis(std::size_t backend, const std::string& op_type,
                                                      const std::string& signature) const {
  const auto subject = subjects_.find({backend, op_type});
  if (subject == subjects_.end()) return std::nullopt;
  const std::vector<Group>& groups = subject->second.groups;
  const auto group =
      std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.signature == signature; });
  if (group == groups.end()) return std::nullopt;
  Diagnosis diagnosis;
  diagnosis.status = name_of(Status::unexplained);
  diagnosis.examined = group->examined;
  diagnosis.where = group->where;
  Region region = region_of(subject->second, *group);
  diagnosis.when = std::move(region.conditions);
  diagnosis.failing = region.failing;
  diagnosis.passing = region.passing;
  diagnosis.passing_inside = region.passing_inside;
  if (!group->explanation) return diagnosis;
  const Explanation& explanation = *group->explanation;
  diagnosis.status = name_of(explanation.status);
  diagnosis.arithmetic = explanation.arithmetic;
  diagnosis.trial_cases = explanation.support.cases;
  diagnosis.trial_failing = explanation.support.failing;
  diagnosis.trial_reproduced = explanation.support.reproduced_cases;
  if (explanation.candidates.empty()) return diagnosis;
  for (const Defect* defect : explanation.candidates.front().defects) diagnosis.defects.push_back(diagnosed(*defect));
  return diagnosis;
}

}  // namespace qconform::diagnose
