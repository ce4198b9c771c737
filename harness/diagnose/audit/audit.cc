#include "harness/diagnose/audit/audit.h"
#include "harness/model/operator.h"

#include <algorithm>
#include <ctime>
#include <iterator>

namespace qconform::diagnose {
namespace {

// Processor time: what else the machine does has no part in it.
struct Clock {
  using time_point = std::clock_t;
  static time_point now() { return std::clock(); }
};

double seconds_since(Clock::time_point start) {
  return static_cast<double>(Clock::now() - start) / CLOCKS_PER_SEC;
}

class Auditor {
 public:
  Auditor(std::string suite, const AuditOptions& options) : options_(options) {
    audit_.suite = std::move(suite);
    audit_.mutants = all_mutants();
    for (const Mutant& mutant : audit_.mutants) models_.emplace_back(*mutant.defect);
    own_seconds_.resize(models_.size());
  }

  Result<void> run(Suite& source) {
    while (!options_.until_killed || audit_.killed() < audit_.killable()) {
      const auto start = Clock::now();
      QCONFORM_ASSIGN(auto next, source.next());
      if (!next) return {};
      ++audit_.cases;
      run_case(*next, start);
      if (options_.progress) options_.progress(audit_.cases);
    }
    return {};
  }

  Audit take() { return std::move(audit_); }

 private:
  void run_case(const Case& test_case, Clock::time_point start) {
    audit_.graphs += test_case.is_one_node() ? 0 : 1;
    MutantTrial trial(test_case, options_.policy);
    if (!trial.is_modelled()) {
      ++audit_.not_modelled;
      return;
    }
    const Operator* const op = operator_of(test_case);
    const CornerCaseCounts& reached = trial.corner_cases();
    for (const CornerCaseInfo& info : corner_cases()) {
      audit_.corner_cases[op->name].add(info.corner_case, static_cast<std::int64_t>(reached[info.corner_case]));
    }
    shared_seconds_ += seconds_since(start);
    for (std::size_t i = 0; i < audit_.mutants.size(); ++i) {
      const bool is_settled = options_.until_killed && audit_.mutants[i].first;
      if (audit_.mutants[i].op == op && !is_settled) run_mutant(i, test_case, trial);
    }
  }

  void run_mutant(std::size_t i, const Case& test_case, const MutantTrial& trial) {
    Mutant& mutant = audit_.mutants[i];
    const auto start = Clock::now();
    const Effect effect = trial.effect_of(models_[i]);
    ++mutant.cases;
    mutant.differed += effect == Effect::none ? 0 : 1;
    mutant.killed += effect == Effect::condemned ? 1 : 0;
    own_seconds_[i] += seconds_since(start);
    if (effect == Effect::condemned && !mutant.first) {
      mutant.first = Detection{audit_.cases, test_case.id, shared_seconds_ + own_seconds_[i]};
    }
  }

  const AuditOptions& options_;
  Audit audit_;
  std::vector<MutantModel> models_;
  double shared_seconds_ = 0;
  std::vector<double> own_seconds_;  // by mutant
};

}  // namespace

MutantModel::MutantModel(const Defect& defect) {
  for (const RoundingProfile arithmetic : reference::kAllRoundingProfiles) {
    static_cast<void>(models.emplace_back(arithmetic).add(defect));
  }
}

MutantTrial::MutantTrial(const Case& test_case, const Policy& policy)
    : expected_(expect(test_case, policy)), modelled_(ModelledCase::prepare(test_case, expected_.classification)) {
  if (!is_modelled()) return;
  right_.push_back(expected_.pinned ? *expected_.pinned : *expected_.output);
  right_.insert(right_.end(), expected_.further_outputs.begin(), expected_.further_outputs.end());
}

const CornerCaseCounts& MutantTrial::corner_cases() {
  assess(*expected_.test_case, expected_);
  return expected_.corner_cases;
}

Effect MutantTrial::effect_of(const MutantModel& mutant) const {
  const RoundingProfile arithmetic = arithmetic_of(expected_.policy.profile);
  std::optional<std::vector<Tensor>> outputs = modelled_->outputs(mutant.models[static_cast<std::size_t>(arithmetic)]);
  // A model without output would hand back nothing: no backend passes with that.
  if (!outputs) return Effect::condemned;
  if (*outputs == right_) return Effect::none;
  return is_failure(judge(expected_, outcome::Produced{std::move(*outputs)}).kind) ? Effect::condemned
                                                                                   : Effect::admissible;
}

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> mutants;
  for (const Defect& defect : defects()) {
    for (const Operator& op : operators()) {
      if (defect.operators.contains(op.name)) mutants.push_back({&defect, &op, 0, 0, 0, std::nullopt});
    }
  }
  return mutants;
}

Fate Mutant::fate() const {
  if (killed > 0) return Fate::killed;
  if (differed == 0) return Fate::not_triggered;
  return defect->admitted.contains(op->name) ? Fate::admitted : Fate::undetected;
}

std::uint64_t Audit::count(Fate fate) const {
  return static_cast<std::uint64_t>(
      std::count_if(mutants.begin(), mutants.end(), [&](const Mutant& m) { return m.fate() == fate; }));
}

bool Audit::concerns(const Mutant& mutant) const {
  if (cases == 0) return true;
  return mutant.op->name == kGraphSubject ? graphs > 0 : graphs < cases;
}

bool Audit::could_kill(const Mutant& mutant) const {
  return concerns(mutant) && !mutant.defect->admitted.contains(mutant.op->name);
}

std::uint64_t Audit::killable() const {
  return static_cast<std::uint64_t>(
      std::count_if(mutants.begin(), mutants.end(), [&](const Mutant& m) { return could_kill(m); }));
}

std::uint64_t Audit::killed() const {
  return static_cast<std::uint64_t>(std::count_if(
      mutants.begin(), mutants.end(), [&](const Mutant& m) { return could_kill(m) && m.fate() == Fate::killed; }));
}

Result<Audit> audit(std::string suite, std::vector<std::unique_ptr<Suite>>& sources, const AuditOptions& options) {
  Auditor auditor(std::move(suite), options);
  for (const auto& source : sources) QCONFORM_TRY(auditor.run(*source));
  return auditor.take();
}

namespace {

std::string joined_labels(const std::vector<CornerCase>& corner_cases) {
  std::string text;
  for (const CornerCase corner_case : corner_cases)
    text += (text.empty() ? "" : ", ") + std::string(info_of(corner_case).label);
  return text;
}

}  // namespace

std::vector<CornerCase> corner_cases_behind(const Defect& defect, const Operator& op) {
  std::vector<CornerCase> concerned;
  std::copy_if(defect.corner_cases.begin(), defect.corner_cases.end(), std::back_inserter(concerned),
               [&](CornerCase corner_case) { return qconform::concerns(info_of(corner_case), op.name); });
  return concerned;
}

Survival Audit::survival(const Mutant& mutant) const {
  if (mutant.cases == 0) return {"no case of the operator", {}};
  const std::string trigger(mutant.defect->trigger);
  if (mutant.differed > 0) {
    return {"differs on " + std::to_string(mutant.differed) + " cases, where its answers are admissible", {}};
  }
  const std::vector<CornerCase> behind = corner_cases_behind(*mutant.defect, *mutant.op);
  std::vector<CornerCase> unreached;
  for (const CornerCase corner_case : behind) {
    if (reached(mutant.op->name, corner_case) == 0) unreached.push_back(corner_case);
  }
  if (behind.empty()) return {"no case has " + trigger, {}};
  if (unreached.size() == behind.size()) return {"never reached: " + joined_labels(unreached), unreached};
  return {"its corner case is reached, but not where it shows: " + trigger, unreached};
}

}  // namespace qconform::diagnose
