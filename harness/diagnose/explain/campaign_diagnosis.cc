#include "harness/diagnose/explain/campaign_diagnosis.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "harness/base/text.h"
#include "harness/diagnose/explain/doubts.h"
#include "harness/engine/cold_replay.h"
#include "harness/engine/execute.h"
#include "harness/engine/findings.h"

namespace qconform::diagnose {
namespace {

// Failures that a cause has at least for each of its defects, and wrong elements in them, for it to be told: some
// hundred defects, and all their pairs, reproduce a few elements by chance.
constexpr std::uint64_t kFewestFailing = 3;
constexpr std::uint64_t kFewestWrong = 8;
// Failures that an explanation of one of them is tried on first.
constexpr std::size_t kNeighbours = 8;
// Bound on the work of running known models before a model is learnt, in products.
constexpr std::uint64_t kWorkBeforeLearning = std::uint64_t{1} << 27;

DiagnosedDefect diagnosed(const Defect& defect) {
  std::string stages;
  for (const std::string_view stage : stages_of(defect)) stages += (stages.empty() ? "" : ", ") + std::string(stage);
  return {std::string(defect.id), std::string(defect.description), std::string(defect.rule),
          std::move(stages),      std::string(defect.evidence),    std::string(defect.avoided_by)};
}

// Nothing contradicts it, but too little speaks for it, or for another one as much.
bool is_in_doubt(const Explanation& explanation) {
  return explanation.status == Status::ambiguous || explanation.status == Status::reproduced;
}

// Whether the case itself is reproduced.
bool has_model(const Explanation& explanation) {
  return !explanation.candidates.empty() &&
         (explanation.status != Status::partial || explanation.support.reproduces_case);
}

// Each of them, and not some that stand for the others.
bool reproduces_all(const Causes& causes, std::size_t cause, const RelatedFailures& failures) {
  return failures.are_all_kept() &&
         std::all_of(failures.kept.begin(), failures.kept.end(),
                     [&](const auto& observation) { return causes.reproduces(cause, *observation); });
}

void add_place(const WrongPlace& found, Diagnosis& diagnosis) {
  if (found.place.empty()) return;
  diagnosis.where = found.place;
  diagnosis.wrong_there = found.wrong_there;
  diagnosis.right_there = found.right_there;
  diagnosis.right_elsewhere = found.right_elsewhere;
}

void add_whereabouts(const Whereabouts& found, Diagnosis& diagnosis) {
  diagnosis.thresholds = found.thresholds;
  diagnosis.behaves = found.behaves;
  add_place(found, diagnosis);
}

void add_region(Region region, Diagnosis& diagnosis) {
  diagnosis.when = std::move(region.conditions);
  diagnosis.when_elements = region.elements;
  diagnosis.failing = region.failing;
  diagnosis.when_shown = region.shown;
  diagnosis.passing = region.passing;
  diagnosis.passing_inside = region.passing_inside;
  diagnosis.precision = region.precision;
  diagnosis.recall = region.recall;
}

constexpr char kElse = '\n';  // between the signature of a claimed failure and its name if the cause is withdrawn

bool is_cured(std::string_view signature) {
  return signature.starts_with(Cures::kPrefix);
}

bool is_of_shape(const FailureGroup& group) {
  return group.signature == kUnexplainedShape;
}

}  // namespace

bool ends_alike(VerdictKind kind) {
  return kind == VerdictKind::refused_here || kind == VerdictKind::crashed || kind == VerdictKind::threw ||
         kind == VerdictKind::exited;
}

void CampaignDiagnosis::passed(std::size_t backend, const Case& test_case, const Expected& expected) {
  if (!expected.output) return;
  DiagnosedOperator& subject = subjects_[{backend, test_case.subject()}];
  if (subject.passed.wants_next()) {
    subject.passed.add(test_case, features_of(test_case, expected));
  } else {
    subject.passed.skip();
  }
  if (!subject.causes || !subject.causes->wants_passed()) return;
  const auto observation = Observation::borrowing(test_case, expected, outcome::Produced{*expected.output});
  if (observation != nullptr) subject.causes->passed(*observation);
}

namespace {

// Every run that times out takes as long as it may: after a few nothing is run any more.
Runner runner_on(Backend& backend, GuardedOutput& output) {
  constexpr int kMostTimedOut = 5;
  return [&backend, &output, timed_out = 0](const Case& test_case) mutable -> Outcome {
    if (timed_out >= kMostTimedOut) return outcome::Unsupported{"too many cases timed out"};
    Outcome outcome = execute(backend, test_case, output);
    if (std::holds_alternative<outcome::TimedOut>(outcome)) ++timed_out;
    return outcome;
  };
}

}  // namespace

Explanation CampaignDiagnosis::explain_case(Backend& backend, const Observation& observation, ExplainOptions options,
                                            std::uint64_t& left) const {
  GuardedOutput output;
  if (Worker* worker = backend.worker()) worker->begin_anew();
  const Runner run = runner_on(backend, output);
  options.work = std::min(options.work, left / 2);
  Explanation explanation = explain(observation.copy(), run, observation.expected().policy, options);
  if (explanation.status >= Status::partial) left -= std::min(left, explanation.work);
  return explanation;
}

std::string CampaignDiagnosis::failed(std::size_t backend, const Case& test_case, const Expected& expected,
                                      const Outcome& outcome, const Verdict& verdict) {
  if (!has_wrong_output(verdict.kind)) {
    std::string signature;
    if (ends_alike(verdict.kind)) signature = cured_part_of(backend, test_case, ", " + signature_of(verdict));
    note_without_values(backend, test_case, expected, signature.empty() ? signature_of(verdict) : signature);
    return signature;
  }
  auto observation = Observation::borrowing(test_case, expected, outcome);
  if (test_case.output_count() > 1) observation = failing_output(*backends_[backend], test_case);
  if (observation == nullptr || !observation->is_failure()) return part_of(backend, test_case);
  DiagnosedOperator& subject = subjects_[{backend, test_case.subject()}];
  if (!subject.causes) {
    GuardedOutput output;
    const Runner run = [&](const Case& one) { return execute(*backends_[backend], one, output); };
    subject.base = learn_base(run, observation->modelled().op(), policy_, kIdentifyingSeconds);
    const auto& base = subject.base.arithmetic;
    subject.causes.emplace(observation->modelled().op(), policy_, base ? &*base : nullptr);
    subject.are_graphs = is_judged_as_graph(test_case);
    subject.explaining = limits_.each.work;
    subject.confirming = 2 * limits_.each.work;
  }
  Causes& causes = *subject.causes;
  const std::uint64_t number = subject.failed++;
  const auto cured_or_undetermined = [&] {
    std::string cured = cured_part_of(backend, test_case);
    return cured.empty() ? std::string(kUndetermined) : cured;
  };
  if (causes.claim_work() >= limits_.examining && number % kExaminedAfterwards != 0) return cured_or_undetermined();
  std::string claimed = causes.claim(*observation);
  if (!claimed.empty()) return with_cure(backend, test_case, std::move(claimed));
  if (!fails_alone(subject, *backends_[backend], *observation)) {
    return std::string(name_of(VerdictKind::depends_on_earlier_node));
  }
  const std::optional<std::string> signature = causes.keep_open(*observation);
  if (!signature) return cured_or_undetermined();
  explain_open(subject, *backends_[backend], *observation, *signature);
  if (causes.has_cause(*signature)) return with_cure(backend, test_case, *signature);
  std::string part = part_of(backend, test_case);
  if (!part.empty()) subject.failing_parts[*signature] = std::move(part);
  return *signature;
}

// A kernel that reads past a tensor, crashes or hangs gave no values that a model could have: its cases are told from
// those that pass.
void CampaignDiagnosis::note_without_values(std::size_t backend, const Case& test_case, const Expected& expected,
                                            const std::string& signature) {
  if (!expected.output) return;
  std::vector<CaseTraits>& failing = subjects_[{backend, test_case.subject()}].without_values[signature];
  if (failing.size() < RelatedFailures::kLearnt) failing.push_back(features_of(test_case, expected));
}

CasesOutside CampaignDiagnosis::cases_outside() const {
  return [this](const Finding& finding, const std::vector<std::string>& conditions) -> RegionCheck {
    for (const auto& [key, subject] : subjects_) {
      if (key.second != finding.op_type || backends_[key.first]->info().name != finding.backend) continue;
      const std::vector<CaseTraits>* failing = nullptr;
      for (const FailureGroup& group : subject.groups) {
        if (group.signature == finding.signature) failing = &group.failures.failing;
      }
      const auto found = subject.without_values.find(finding.signature);
      if (failing == nullptr && found != subject.without_values.end()) failing = &found->second;
      if (failing == nullptr) return {};
      const auto outside = std::count_if(failing->begin(), failing->end(), [&](const CaseTraits& traits) {
        return std::any_of(conditions.begin(), conditions.end(), [&](const std::string& text) {
          const auto condition = Condition::parse(text);
          return !condition || !condition->holds(traits);
        });
      });
      return {static_cast<std::uint64_t>(outside), failing->size()};
    }
    return {};
  };
}

std::optional<Diagnosis> CampaignDiagnosis::conditions_of(const DiagnosedOperator& subject,
                                                          const std::string& signature) {
  const auto found = subject.without_values.find(signature);
  if (found == subject.without_values.end()) return std::nullopt;
  Region region = learn_region(found->second, subject.passed.traits());
  if (region.conditions.empty()) return std::nullopt;
  Diagnosis diagnosis;
  diagnosis.status = name_of(Status::unexplained);
  add_region(std::move(region), diagnosis);
  return diagnosis;
}

// Whether a failure that no cause reproduces comes back in a process that has run nothing else, as far as that was
// tried: of too many only the first are.
bool CampaignDiagnosis::fails_alone(DiagnosedOperator& subject, Backend& backend,
                                    const Observation& observation) const {
  constexpr int kMostReplays = 64;
  Worker* worker = backend.worker();
  if (worker == nullptr || !worker->starts_fast() || subject.replays >= kMostReplays) return true;
  ++subject.replays;
  const bool fails = fails_cold(*worker, observation.test_case(), policy_).value_or(true);
  if (!fails) worker->note_that_it_remembers();
  return fails;
}

// Observes the first of several outputs that is wrong when it is computed alone; null where none is.
std::unique_ptr<Observation> CampaignDiagnosis::failing_output(Backend& backend, const Case& test_case) const {
  GuardedOutput output;
  for (const std::string& name : test_case.outputs) {
    Case alone = computation_of(test_case);
    alone.outputs = {name};
    alone.shown_outputs.clear();
    auto observation = Observation::of(std::move(alone), runner_on(backend, output), policy_);
    if (observation != nullptr && observation->is_failure()) return observation;
  }
  return nullptr;
}

std::optional<shrink::FailingPart> CampaignDiagnosis::failing_part_of(Backend& backend, const Case& test_case) const {
  if (!is_judged_as_graph(test_case)) return std::nullopt;
  GuardedOutput output;
  return shrink::failing_part(test_case, runner_on(backend, output), policy_);
}

// A matrix has dozens of backends, and each opens dozens of processes: those of one backend alone are kept.
Cures& CampaignDiagnosis::cures_of(std::size_t backend) const {
  for (auto& [other, cures] : cures_) {
    if (other != backend) cures.close();
  }
  return cures_.try_emplace(backend, *backends_[backend]).first->second;
}

std::string CampaignDiagnosis::cured_part_of(std::size_t backend, const Case& test_case, const std::string& end) const {
  if (!is_judged_as_graph(test_case)) return {};
  Cures& cures = cures_of(backend);
  if (!cures.has_switches()) return {};
  const auto cause = cures.cause_of(test_case, policy_);
  if (!cause) return {};
  std::string signature = cause->name + ending_of(backend, test_case, cause->name, end);
  beside_[{backend, signature}].insert(cause->beside.begin(), cause->beside.end());
  return signature;
}

std::string CampaignDiagnosis::ending_of(std::size_t backend, const Case& test_case, const std::string& cause,
                                         const std::string& end) const {
  Cures& cures = cures_of(backend);
  const auto part = cures.is_broad(cause) ? failing_part_of(*backends_[backend], test_case) : std::nullopt;
  if (!part) return end;
  const auto rewriting = cures.rewriting_by(cause, part->part);
  const std::string rewritten = rewriting ? rewriting->name() : std::string();
  const std::string how = end.empty() ? part->how : end;
  return (rewritten.empty() ? " of " + part->part.op_types() : ": " + rewritten) + how;
}

std::string CampaignDiagnosis::part_of(std::size_t backend, const Case& test_case) const {
  std::string cured = cured_part_of(backend, test_case);
  if (!cured.empty()) return cured;
  const auto part = failing_part_of(*backends_[backend], test_case);
  return part ? part->name() : std::string();
}

// The cause that claims a failure may be withdrawn when all are known. What cures the failure, or its failing part,
// stands behind the signature until then. Parts are taken of the first ones: most causes stay.
std::string CampaignDiagnosis::with_cure(std::size_t backend, const Case& test_case, std::string signature) {
  std::string name = cured_part_of(backend, test_case);
  if (name.empty() && subjects_[{backend, test_case.subject()}].claimed_parts++ < kClaimedParts) {
    const auto part = failing_part_of(*backends_[backend], test_case);
    if (part) name = part->name();
  }
  return name.empty() ? signature : signature + kElse + name;
}

// Explanations cost most, and one may explain all that follows. Then what they leave is taken apart now and then, so
// that later failures are held against its causes.
void CampaignDiagnosis::explain_open(DiagnosedOperator& subject, Backend& backend, const Observation& observation,
                                     const std::string& signature) const {
  constexpr std::size_t kFewestOpen = 16;
  Causes& causes = *subject.causes;
  if (subject.explanations < kExplanations) {
    Explanation explanation = explain_case(backend, observation, options_for(subject), subject.explaining);
    subject.explanations += explanation.candidates.empty() ? 3 : explanation.status >= Status::reproduced ? 2 : 1;
    if (has_model(explanation)) {
      DefectSet set = explanation.candidates.front();
      causes.give(causes.add(std::move(set), std::move(explanation)), signature);
    } else if (!subject.unexplained) {
      subject.unexplained = std::move(explanation);
    }
  } else if (causes.open() >= kFewestOpen && (std::has_single_bit(causes.open()) || causes.open() % 200 == 0)) {
    causes.find();
  }
}

ExplainOptions CampaignDiagnosis::options_for(const DiagnosedOperator& subject) const {
  ExplainOptions options = limits_.each;
  options.base = subject.base.arithmetic;
  options.telling = subject.base.telling;
  return options;
}

std::string CampaignDiagnosis::settled(std::size_t backend, const std::string& op_type, const std::string& signature) {
  const auto found = subjects_.find({backend, op_type});
  if (found == subjects_.end() || !found->second.causes) return signature;
  DiagnosedOperator& subject = found->second;
  if (!std::exchange(subject.is_settled, true)) settle(subject, *backends_[backend]);
  const std::size_t end = std::min(signature.find(kElse), signature.size());
  const std::string claimed = signature.substr(0, end);
  const std::string cure = signature.substr(std::min(end + 1, signature.size()));
  for (const FailureGroup& group : subject.groups) {
    if (std::find(group.parts.begin(), group.parts.end(), claimed) == group.parts.end()) continue;
    if (group.cause) return group.signature;
    if (!cure.empty()) return cure;
    // Its own part, which a cause that was withdrawn had taken over.
    const auto part = subject.failing_parts.find(claimed);
    const bool is_cured_part = part != subject.failing_parts.end() && is_cured(part->second);
    return is_cured_part ? part->second : group.signature;
  }
  if (!cure.empty()) return cure;
  return subject.causes->has_given(claimed) ? kUndetermined : claimed;
}

// The commonest cause comes first among those of one status. Of what no known defect reproduces alone, any other kind
// of cause may reproduce some.
std::string CampaignDiagnosis::implied(std::size_t backend, const std::string& op_type,
                                       const std::vector<std::string>& reproducing) const {
  const auto found = subjects_.find({backend, op_type});
  if (found == subjects_.end() || !found->second.causes) return kUndetermined;
  const DiagnosedOperator& subject = found->second;
  const FailureGroup* open = nullptr;
  bool may_be_another = subject.base.arithmetic.has_value();
  for (const FailureGroup& group : subject.groups) {
    if (!group.cause) {
      may_be_another = may_be_another || open != nullptr || !group.failing_part.empty() || is_of_shape(group);
      open = &group;
      continue;
    }
    const auto& defects = subject.causes->defects_of(*group.cause);
    const bool is_known = defects.size() == 1 && !defects[0]->is_learnt;
    may_be_another = may_be_another || !is_known;
    const bool is_named =
        is_known && std::find(reproducing.begin(), reproducing.end(), defects[0]->id) != reproducing.end();
    if (is_named) return group.signature;
  }
  return reproducing.empty() && open != nullptr && !may_be_another ? open->signature : kUndetermined;
}

void CampaignDiagnosis::settle(DiagnosedOperator& subject, Backend& backend) const {
  subject.causes->find();
  subject.causes->find_singles();
  learn_open(subject, backend);
  subject.groups = subject.causes->take_groups(subject.unexplained, subject.failing_parts);
  int explanations = 0;
  for (FailureGroup& group : subject.groups) {
    if (!group.cause) continue;
    if (const Explanation* whole = subject.causes->explanation_of_whole(*group.cause))
      explain_part(subject, group, *whole);
  }
  for (FailureGroup& group : subject.groups) {
    const bool is_certain = group.explanation && !is_in_doubt(*group.explanation);
    if (group.cause && !is_certain && explanations++ < kExplanations) confirm(subject, group, backend);
  }
  unite_groups(subject);
  for (FailureGroup& group : subject.groups) {
    if (group.cause && group.status == Status::partial) decide(subject, group);
  }
  unite_groups(subject);
  const bool has_cures = subject.are_graphs && !backend.switches().empty();
  drop_doubtful_names(*subject.causes, subject.passed.traits(), subject.groups, has_cures);
  unite_groups(subject);
  unite_parts(subject, backend);
  int tried = 0;
  for (FailureGroup& group : subject.groups) {
    if (group.cause) continue;
    if (!group.united && tried++ < kTried) try_conditions_of(group, subject, backend);
    if (group.failing_part.empty()) group.values = subject.causes->values_of(group);
  }
}

// The known models have been tried on these failures, so that little is spent on them once more.
void CampaignDiagnosis::learn_open(DiagnosedOperator& subject, Backend& backend) const {
  const std::vector<const Observation*> open = subject.causes->smallest_open();
  if (open.empty() || limits_.learning == 0) return;
  ExplainOptions options = limits_.each;
  options.work = std::min(options.work, kWorkBeforeLearning);
  options.learning_work = limits_.learning;
  options.is_explained = [&](const Observation& observation) { return subject.causes->is_explained(observation); };
  for (std::size_t i = 1; i < open.size(); ++i) options.neighbours.push_back(open[i]->test_case());
  std::uint64_t own = 2 * options.work;  // once, whatever was spent before
  Explanation learnt = explain_case(backend, *open.front(), options, own);
  if (learnt.status != Status::learnt) return;
  DefectSet set = learnt.candidates.front();
  subject.causes->add(std::move(set), std::move(learnt));
}

// A backend with several defects: failures that one of them alone reproduces are told apart.
void CampaignDiagnosis::explain_part(const DiagnosedOperator& subject, FailureGroup& group, Explanation whole) {
  group.status = whole.status;
  group.signature = DefectSet{subject.causes->defects_of(*group.cause)}.name();
  group.explanation = std::move(whole);
}

// Whether a cause that other cases contradict is one all the same, in some of the backend's paths.
void CampaignDiagnosis::decide(const DiagnosedOperator& subject, FailureGroup& group) {
  const auto& defects = subject.causes->defects_of(*group.cause);
  const RelatedFailures& failures = group.failures;
  if (failures.examined >= kFewestFailing * defects.size() && failures.evidence >= kFewestWrong * defects.size()) {
    group.status = Status::reproduced;
    group.signature = DefectSet{defects}.name();
  } else if (!group.explanation || !is_in_doubt(*group.explanation)) {
    group.cause.reset();
    group.explanation.reset();
    group.status = Status::unexplained;
    describe_place(group);
  }
}

void CampaignDiagnosis::confirm(DiagnosedOperator& subject, FailureGroup& group, Backend& backend) const {
  const Evidence& kept = group.failures.kept;
  if (kept.empty()) return;
  ExplainOptions options = options_for(subject);
  for (std::size_t i = 1; i < std::min(kept.size(), kNeighbours); ++i)
    options.neighbours.push_back(kept[i]->test_case());
  Explanation again = explain_case(backend, *kept.front(), options, subject.confirming);
  if (!has_model(again)) return;
  const std::size_t cause = subject.causes->add(again.candidates.front(), again);
  if (again.status == Status::explained && subject.causes->is_part(*group.cause, cause))
    return explain_part(subject, group, std::move(again));
  const bool has_all = cause == *group.cause || reproduces_all(*subject.causes, cause, group.failures);
  const bool is_better = again.status < group.status || (again.status == group.status && cause == *group.cause);
  if (!has_all || !is_better) return;
  group.cause = cause;
  group.status = again.status;
  group.signature = again.signature();
  group.where = again.place().description;
  group.explanation = std::move(again);
}

// Groups of one signature are one; what is explained without doubt takes over what it reproduces.
void CampaignDiagnosis::unite_groups(DiagnosedOperator& subject) {
  std::vector<FailureGroup>& groups = subject.groups;
  const auto takes_over = [&](const FailureGroup& group, const FailureGroup& other) {
    if (group.signature == other.signature) return true;
    if (!group.cause && !other.cause) {
      return group.failing_part == other.failing_part && is_of_shape(group) == is_of_shape(other);
    }
    if (!group.cause || group.status > Status::ambiguous || group.status > other.status) return false;
    if (other.cause && subject.causes->is_part(*other.cause, *group.cause)) return false;
    return reproduces_all(*subject.causes, *group.cause, other.failures);
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [](const FailureGroup& a, const FailureGroup& b) { return a.status < b.status; });
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = groups.size() - 1; j > i; --j) {
      if (!takes_over(groups[i], groups[j])) continue;
      std::move(groups[j].parts.begin(), groups[j].parts.end(), std::back_inserter(groups[i].parts));
      groups[i].failures.take_over(std::move(groups[j].failures));
      if (!groups[i].cause) describe_place(groups[i]);
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

namespace {

// The operators that all of some parts have, "DequantizeLinear+Relu+QuantizeLinear".
std::string common_operators(const std::vector<std::string>& parts) {
  const auto operators_of = [](std::string_view part) { return split(part.substr(0, part.find(',')), "+"); };
  std::vector<std::string_view> common = operators_of(parts.front());
  for (const std::string& part : parts) {
    std::vector<std::string_view> left = operators_of(part);
    std::erase_if(common, [&](std::string_view op) {
      const auto found = std::find(left.begin(), left.end(), op);
      if (found == left.end()) return true;
      left.erase(found);
      return false;
    });
  }
  return fmt::format("{}", fmt::join(common, "+"));
}

}  // namespace

// One defect of a runtime shows in graphs of several kinds. Their failures are one finding where conditions tell them
// all from what passes.
void CampaignDiagnosis::unite_parts(DiagnosedOperator& subject, Backend& backend) const {
  std::vector<FailureGroup>& groups = subject.groups;
  const auto is_part = [](const FailureGroup& group) {
    return !group.cause && !is_of_shape(group) && !is_cured(group.failing_part);
  };
  std::vector<std::string> parts;
  std::vector<CaseTraits> failing;
  for (const FailureGroup& group : groups) {
    if (!is_part(group)) continue;
    if (!group.failing_part.empty()) parts.push_back(group.failing_part);
    failing.insert(failing.end(), group.failures.failing.begin(), group.failures.failing.end());
  }
  if (parts.size() < 2) return;
  FailureGroup whole;
  whole.failures.failing = std::move(failing);
  try_conditions_of(whole, subject, backend);
  Region region = region_of(subject, whole);
  if (region.conditions.empty()) return;
  const auto first = std::find_if(groups.begin(), groups.end(), is_part);
  for (auto other = groups.end(); --other != first;) {
    if (!is_part(*other)) continue;
    std::move(other->parts.begin(), other->parts.end(), std::back_inserter(first->parts));
    first->failures.take_over(std::move(other->failures));
    other = groups.erase(other);
  }
  if (std::string common = common_operators(parts); !common.empty()) first->signature = std::move(common);
  first->failing_part.clear();
  first->united = std::move(region);
  first->tried = std::move(whole.tried);
}

void CampaignDiagnosis::try_conditions_of(FailureGroup& group, const DiagnosedOperator& subject,
                                          Backend& backend) const {
  if (group.failures.failing.empty() || is_of_shape(group)) return;
  GuardedOutput output;
  if (Worker* worker = backend.worker()) worker->begin_anew();
  group.tried = try_conditions(group.failures.failing, subject.passed, runner_on(backend, output), policy_);
}

FailureGroup* CampaignDiagnosis::group_named(DiagnosedOperator& subject, const std::string& signature) {
  const auto found = std::find_if(subject.groups.begin(), subject.groups.end(),
                                  [&](const FailureGroup& group) { return group.signature == signature; });
  return found == subject.groups.end() ? nullptr : &*found;
}

bool CampaignDiagnosis::has_cause(std::size_t backend, const std::string& op_type, const std::string& signature,
                                  const Expected& expected, const Outcome& outcome) const {
  if (is_cured(signature)) {
    return cures_of(backend).cures(signature, *expected.test_case, policy_);
  }
  const auto found = subjects_.find({backend, op_type});
  if (found == subjects_.end() || !found->second.causes) return true;
  const DiagnosedOperator& subject = found->second;
  const auto observation = Observation::borrowing(*expected.test_case, expected, outcome);
  if (observation == nullptr || !observation->is_failure()) return true;
  const auto has = [&](const FailureGroup& group) {
    return group.cause && subject.causes->reproduces(*group.cause, *observation);
  };
  const auto group = std::find_if(subject.groups.begin(), subject.groups.end(),
                                  [&](const FailureGroup& one) { return one.signature == signature; });
  const bool is_known = group != subject.groups.end() && group->cause;
  // A case that another cause reproduces too would be an example of that one; a cause that adds defects to this one has
  // what this one has.
  const auto is_another = [&](const FailureGroup& other) {
    const bool is_own =
        is_known && (&other == &*group || (other.cause && subject.causes->is_part(*group->cause, *other.cause)));
    return !is_own && has(other);
  };
  return (!is_known || has(*group)) && std::none_of(subject.groups.begin(), subject.groups.end(), is_another);
}

std::string CampaignDiagnosis::met(std::size_t backend, const Expected& expected, const Outcome& outcome) {
  const Case& test_case = *expected.test_case;
  const auto found = subjects_.find({backend, test_case.subject()});
  const auto observation = Observation::borrowing(test_case, expected, outcome);
  if (found == subjects_.end() || !found->second.causes || observation == nullptr) {
    return part_of(backend, test_case);
  }
  DiagnosedOperator& subject = found->second;
  for (const FailureGroup& group : subject.groups) {
    if (group.cause && subject.causes->reproduces(*group.cause, *observation)) return group.signature;
    if (group.united && group.united->contains(features_of(test_case, expected))) return group.signature;
  }
  std::string part = part_of(backend, test_case);
  if (subject.explained_when_settled++ >= kExplanationsWhenSettled) return part;
  Explanation explanation = explain_case(*backends_[backend], *observation, options_for(subject), subject.explaining);
  if (explanation.candidates.empty() || explanation.status > Status::ambiguous) return part;
  FailureGroup group;
  group.signature = explanation.signature();
  if (group_named(subject, group.signature) != nullptr) return group.signature;
  group.status = explanation.status;
  group.cause = subject.causes->add(explanation.candidates.front(), explanation);
  group.where = explanation.place().description;
  group.explanation = std::move(explanation);
  group.failures.note(*observation);
  subject.groups.push_back(std::move(group));
  return subject.groups.back().signature;
}

void CampaignDiagnosis::learn(std::size_t backend, const std::string& op_type, const std::string& signature,
                              Learnt learnt) {
  DiagnosedOperator& subject = subjects_[{backend, op_type}];
  subject.passed.replace(std::move(learnt.passing));
  FailureGroup* const group = group_named(subject, signature);
  if (group == nullptr) {
    const auto failing = subject.without_values.find(signature);
    if (failing != subject.without_values.end() && !learnt.failing.empty()) failing->second = std::move(learnt.failing);
    return;
  }
  group->failures.failing = std::move(learnt.failing);
  group->tried.reset();
}

void CampaignDiagnosis::refine(Finding& finding, std::size_t backend) {
  const auto found = subjects_.find({backend, finding.op_type});
  if (!finding.diagnosis || found == subjects_.end()) return;
  DiagnosedOperator& subject = found->second;
  FailureGroup* const group = group_named(subject, finding.signature);
  if (group != nullptr) locate_failure(finding, subject, *group, backend);
  if (!finding.diagnosis->beside.empty()) {
    finding.diagnosis->own_elements = cures_of(backend).own_elements(finding.signature, finding.example, policy_);
  }
  if (!finding.shrinking || finding.shrinking->steps == 0) return;
  if (group != nullptr && !group->failing_part.empty() && !is_cured(group->failing_part)) {
    const auto part = failing_part_of(*backends_[backend], finding.example);
    if (part && part->name() != finding.signature) {
      if (group_named(subject, part->name()) == nullptr) group->signature = part->name();
      finding.signature = part->name();
    }
  }
  if (group == nullptr || !group->cause) return;
  GuardedOutput output;
  const Outcome outcome = execute_for_judge(*backends_[backend], finding.example, output);
  Expected expected = expect(finding.example, policy_);
  assess(finding.example, expected);
  const auto observation = Observation::borrowing(finding.example, expected, outcome);
  if (observation == nullptr || !observation->is_failure()) return;
  if (!subject.causes->reproduces(*group->cause, *observation)) return;
  group->smallest.push_back(features_of(finding.example, expected));
  finding.diagnosis = diagnosis(backend, finding.op_type, finding.signature);
  if (finding.diagnosis) finding.diagnosis->examined = finding.cases;
}

void CampaignDiagnosis::locate_failure(Finding& finding, DiagnosedOperator& subject, FailureGroup& group,
                                       std::size_t backend) const {
  if (group.status <= Status::learnt || subject.located++ >= kLocated) return;
  GuardedOutput output;
  constexpr std::size_t kFurther = 48;
  std::vector<const Observation*> further;
  for (const auto& failure : group.failures.kept) {
    if (further.size() < kFurther && !failure->has_wrong_shape()) further.push_back(failure.get());
  }
  // The clearest case has most elements, and tells apart what is the same in small ones.
  std::unique_ptr<Observation> clearest;
  if (finding.representative) {
    const Case& test_case = finding.representative->test_case;
    clearest = Observation::of(test_case, runner_on(*backends_[backend], output)(test_case), policy_);
  }
  if (clearest != nullptr && clearest->wrong_elements() > 0) further.push_back(clearest.get());
  group.whereabouts = locate(finding.example, runner_on(*backends_[backend], output), policy_, further);
  add_whereabouts(*group.whereabouts, *finding.diagnosis);
}

// Learns the region of a group. If the suite has too few cases for one, those that the explanation was tried on may
// tell.
Region CampaignDiagnosis::region_of(const DiagnosedOperator& subject, const FailureGroup& group) {
  std::vector<CaseTraits> failing = group.failures.failing;
  failing.insert(failing.end(), group.smallest.begin(), group.smallest.end());
  if (group.tried) failing.insert(failing.end(), group.tried->failing.begin(), group.tried->failing.end());
  Region region = learn_region(failing, group.tried ? group.tried->passing : subject.passed.traits());
  if (group.tried) {
    const auto counts = [&](const CaseTraits& traits) { return traits.elements >= region.elements; };
    region.shown =
        static_cast<std::uint64_t>(std::count_if(group.tried->failing.begin(), group.tried->failing.end(), counts));
  }
  if (region.elements == 0) region.failing = group.failures.failing.size() + region.shown;
  if (!region.conditions.empty() || !group.explanation) return region;
  const Region& tried = group.explanation->region;
  const bool holds =
      std::all_of(failing.begin(), failing.end(), [&](const CaseTraits& features) { return tried.contains(features); });
  return holds && !tried.conditions.empty() ? tried : region;
}

std::optional<Diagnosis> CampaignDiagnosis::diagnosis(std::size_t backend, const std::string& op_type,
                                                      const std::string& signature) const {
  std::optional<Diagnosis> found = diagnosis_of_values(backend, op_type, signature);
  if (!is_cured(signature)) return found;
  if (!found) found.emplace().status = name_of(Status::unexplained);
  found->cured_by = cure_in(signature, *backends_[backend]);
  if (const auto beside = beside_.find({backend, signature}); beside != beside_.end())
    found->beside.assign(beside->second.begin(), beside->second.end());
  return found;
}

std::optional<Diagnosis> CampaignDiagnosis::diagnosis_of_values(std::size_t backend, const std::string& op_type,
                                                                const std::string& signature) const {
  const auto subject = subjects_.find({backend, op_type});
  if (subject == subjects_.end()) return std::nullopt;
  const std::vector<FailureGroup>& groups = subject->second.groups;
  const auto group =
      std::find_if(groups.begin(), groups.end(), [&](const FailureGroup& g) { return g.signature == signature; });
  if (group == groups.end()) return conditions_of(subject->second, signature);
  Diagnosis diagnosis;
  // A model that comes near is contradicted somewhere, so failures that no cause reproduces get no name from it.
  diagnosis.status = name_of(group->cause ? group->status : Status::unexplained);
  diagnosis.examined = group->failures.examined;
  diagnosis.where = group->where;
  if (group->values) add_place(*group->values, diagnosis);
  if (group->whereabouts) add_whereabouts(*group->whereabouts, diagnosis);
  diagnosis.contradicting = group->contradicting;
  Region region = region_of(subject->second, *group);
  add_region(std::move(region), diagnosis);
  for (const std::string& condition : group->only_when) {
    if (std::find(diagnosis.when.begin(), diagnosis.when.end(), condition) == diagnosis.when.end())
      diagnosis.when.push_back(condition);
  }
  if (group->cause) {
    const auto& defects = subject->second.causes->defects_of(*group->cause);
    for (const Defect* defect : defects) diagnosis.defects.push_back(diagnosed(*defect));
    const CandidateTest& test = subject->second.causes->test();
    if (const auto fitting = subject->second.causes->fitting_all(*group->cause, group->failures.kept)) {
      diagnosis.arithmetic = test.known_arithmetics()[fitting->arithmetic].name;
      if (test.is_on_base(*fitting)) diagnosis.base = diagnosis.arithmetic;
    }
    diagnosis.experiment = subject->second.causes->experiment(*group->cause, group->failures.kept);
  }
  if (!group->cause || !group->explanation) return diagnosis;
  const Explanation& explanation = *group->explanation;
  if (diagnosis.arithmetic.empty()) {
    diagnosis.arithmetic = explanation.arithmetic;
    diagnosis.base = explanation.base();
  }
  diagnosis.trial_cases = explanation.support.cases;
  diagnosis.trial_failing = explanation.support.failing;
  diagnosis.trial_reproduced = explanation.support.reproduced_cases;
  return diagnosis;
}

}  // namespace qconform::diagnose
