#include "harness/diagnose/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <memory>
#include <utility>

#include "harness/base/file.h"
#include "harness/engine/relation_check.h"
#include "harness/forms/archive/archive.h"
#include "harness/forms/json/json_text.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/suites/select.h"

namespace qconform::diagnose {
namespace {

// Processor time: what else the machine does has no part in it.
struct Clock {
  using time_point = std::clock_t;
  static time_point now() { return std::clock(); }
};

double processor_seconds_since(Clock::time_point start) {
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
    audit_.graphs += is_judged_as_graph(test_case) ? 1 : 0;
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
    shared_seconds_ += processor_seconds_since(start);
    for (std::size_t i = 0; i < audit_.mutants.size(); ++i) {
      const bool is_settled = options_.until_killed && audit_.mutants[i].first;
      if (audit_.mutants[i].op == op && !is_settled) run_mutant(i, test_case, trial);
    }
  }

  void run_mutant(std::size_t i, const Case& test_case, const MutantTrial& trial) {
    Mutant& mutant = audit_.mutants[i];
    const auto start = Clock::now();
    const MutantEffect effect = trial.effect_of(models_[i]);
    ++mutant.cases;
    mutant.differed += effect == MutantEffect::none ? 0 : 1;
    mutant.killed += effect == MutantEffect::condemned ? 1 : 0;
    own_seconds_[i] += processor_seconds_since(start);
    if (effect == MutantEffect::condemned && !mutant.first) {
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
  right_ = expected_.answers();
  if (expected_.pinned) right_[0] = *expected_.pinned;
}

const CornerCaseCounts& MutantTrial::corner_cases() {
  assess(*expected_.test_case, expected_);
  return expected_.corner_cases;
}

MutantEffect MutantTrial::effect_of(const MutantModel& mutant) const {
  const RoundingProfile arithmetic = arithmetic_of(expected_.policy.profile);
  std::optional<std::vector<Tensor>> outputs = modelled_->outputs(mutant.models[static_cast<std::size_t>(arithmetic)]);
  // A model without output would hand back nothing: no backend passes with that.
  if (!outputs) return MutantEffect::condemned;
  if (*outputs == right_) return MutantEffect::none;
  return is_failure(judge(expected_, outcome::Produced{std::move(*outputs)}).kind) ? MutantEffect::condemned
                                                                                   : MutantEffect::admissible;
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
  return is_admitted() ? Fate::admitted : Fate::undetected;
}

std::uint64_t Audit::count(Fate fate) const {
  return static_cast<std::uint64_t>(
      std::count_if(mutants.begin(), mutants.end(), [&](const Mutant& m) { return m.fate() == fate; }));
}

bool Audit::concerns(const Mutant& mutant) const {
  if (cases == 0) return true;
  return mutant.op->judges_graphs ? graphs > 0 : graphs < cases;
}

bool Audit::could_kill(const Mutant& mutant) const {
  return concerns(mutant) && !mutant.is_admitted();
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

// Audits what relations detect of the defect models, without the right answer.

namespace {

class RelationAuditor {
 public:
  RelationAuditor(std::string suite, const AuditOptions& options, const BackendOfModel& backend_of)
      : options_(options) {
    audit_.suite = std::move(suite);
    audit_.mutants = all_mutants();
    for (const Mutant& mutant : audit_.mutants) {
      DefectModel model(arithmetic_of(options.policy.profile));
      static_cast<void>(model.add(*mutant.defect));
      backends_.push_back(backend_of(std::move(model)));
    }
    seconds_.resize(backends_.size());
  }

  Result<void> run(Suite& source) {
    while (!options_.until_killed || audit_.killed() < audit_.killable()) {
      QCONFORM_ASSIGN(auto next, source.next());
      if (!next) return {};
      ++audit_.cases;
      audit_.graphs += is_judged_as_graph(*next) ? 1 : 0;
      run_case(*next);
      if (options_.progress) options_.progress(audit_.cases);
    }
    return {};
  }

  Audit take() { return std::move(audit_); }

 private:
  void run_case(const Case& test_case) {
    const auto subject = relations::subject_of(test_case);
    const auto modelled = subject ? ModelledCase::prepare(test_case) : nullptr;
    if (modelled == nullptr) {
      ++audit_.not_modelled;
      return;
    }
    const Tensor right = modelled->lowered().evaluate(arithmetic_of(options_.policy.profile));
    for (std::size_t i = 0; i < audit_.mutants.size(); ++i) {
      const Mutant& mutant = audit_.mutants[i];
      if (mutant.op != &modelled->op() || mutant.first || !audit_.could_kill(mutant)) continue;
      run_mutant(i, *subject, right);
    }
  }

  // A relation may break where the base is right: a derived case shows the defect then.
  void run_mutant(std::size_t number, const relations::RelationSubject& subject, const Tensor& right) {
    Mutant& mutant = audit_.mutants[number];
    Backend& backend = *backends_[number];
    const std::clock_t start = std::clock();
    ++mutant.cases;
    const FormedOutput base = run_for_output(backend, *subject.base, output_);
    const auto all = relations::relations();
    const bool is_broken =
        base.tensor && std::any_of(all.begin(), all.end(), [&](const relations::Relation& relation) {
          return check_relation(relation, subject, *base.tensor, backend, output_, options_.policy).outcome ==
                 RelationOutcome::broken;
        });
    mutant.differed += is_broken || (base.tensor && *base.tensor != right) ? 1 : 0;
    seconds_[number] += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (!is_broken) return;
    ++mutant.killed;
    mutant.first = Detection{audit_.cases, subject.base->id, seconds_[number]};
  }

  const AuditOptions& options_;
  Audit audit_;
  std::vector<std::unique_ptr<Backend>> backends_;  // by mutant
  std::vector<double> seconds_;
  GuardedOutput output_;
};

}  // namespace

Result<Audit> audit_relations(std::string suite, std::vector<std::unique_ptr<Suite>>& bases,
                              const AuditOptions& options, const BackendOfModel& backend_of) {
  RelationAuditor auditor(std::move(suite), options, backend_of);
  for (const auto& base : bases) QCONFORM_TRY(auditor.run(*base));
  return auditor.take();
}

namespace {

MutantEntry entry_of(const Audit& audit, const Mutant& mutant) {
  MutantEntry entry{.defect = std::string(mutant.defect->id),
                    .op_type = std::string(mutant.op->name),
                    .fate = mutant.fate(),
                    .cases = mutant.cases,
                    .differed = mutant.differed,
                    .killed = mutant.killed,
                    .first = mutant.first};
  if (mutant.first) return entry;
  const Survival survival = audit.survival(mutant);
  entry.why = survival.reason;
  for (const CornerCase corner_case : survival.unreached) entry.unreached.emplace_back(info_of(corner_case).id);
  return entry;
}

AuditEntry entry_of(const Audit& audit) {
  AuditEntry entry{audit.suite, audit.cases, audit.not_modelled, audit.killable(), audit.killed(), {}};
  for (const Mutant& mutant : audit.mutants) entry.mutants.push_back(entry_of(audit, mutant));
  return entry;
}

bool still_killed(const KilledMutant& before, std::span<const Audit> audits) {
  return std::any_of(audits.begin(), audits.end(), [&](const Audit& audit) {
    return audit.suite == before.suite &&
           std::any_of(audit.mutants.begin(), audit.mutants.end(), [&](const Mutant& mutant) {
             return mutant.defect->id == before.defect && mutant.op->name == before.op_type &&
                    mutant.fate() == Fate::killed;
           });
  });
}

}  // namespace

std::string audits_json(std::span<const Audit> audits, std::uint64_t seed) {
  AuditDocument document{.seed = seed};
  for (const Audit& audit : audits) document.audits.push_back(entry_of(audit));
  return print_json(write_document(description_of(document)));
}

Result<std::vector<KilledMutant>> read_baseline_json(std::string_view text) {
  QCONFORM_ASSIGN(const auto json, parse_json(text));
  QCONFORM_ASSIGN(const auto document, read_document<AuditDocument>(json));
  std::vector<KilledMutant> killed;
  for (const AuditEntry& audit : document.audits) {
    for (const MutantEntry& mutant : audit.mutants) {
      if (mutant.fate == Fate::killed) killed.push_back({audit.suite, mutant.defect, mutant.op_type});
    }
  }
  return killed;
}

Result<std::vector<KilledMutant>> load_baseline(const std::filesystem::path& path) {
  QCONFORM_ASSIGN(const auto text, read_file(path, limits::kJsonFileBytes));
  return in_context(path.string(), read_baseline_json(text));
}

std::vector<KilledMutant> lost_kills(std::span<const KilledMutant> baseline, std::span<const Audit> audits) {
  std::vector<KilledMutant> lost;
  std::copy_if(baseline.begin(), baseline.end(), std::back_inserter(lost),
               [&](const KilledMutant& before) { return !still_killed(before, audits); });
  return lost;
}

namespace {

// Cases of which some are likely to kill what a backend's own have not.
Result<std::vector<std::unique_ptr<Suite>>> further_suites(const Contracts& contracts, std::uint64_t seed) {
  QCONFORM_ASSIGN(auto suites, open_suite("corpus", {}));
  if (auto within = suite_within(contracts, "power", seed)) suites.push_back(std::move(within));
  for (auto& drawn : drawn_within(contracts, "power", seed + 1)) suites.push_back(std::move(drawn));
  return suites;
}

}  // namespace

MutantTable::MutantTable(const Policy& policy, std::uint64_t for_large_cases)
    : policy_(policy), mutants_(all_mutants()), left_for_large_(for_large_cases) {
  for (const Mutant& mutant : mutants_) models_.emplace_back(*mutant.defect);
}

std::vector<std::uint32_t> MutantTable::killed_by(const Case& test_case, const std::set<std::uint32_t>& settled) {
  std::vector<std::uint32_t> left;
  const Operator* const op = operator_of(test_case);
  for (std::uint32_t i = 0; i < mutants_.size(); ++i) {
    if (mutants_[i].op == op && !settled.contains(i)) left.push_back(i);
  }
  if (left.empty()) return {};
  const MutantTrial trial(test_case, policy_);
  if (!trial.is_modelled()) return {};
  if (trial.expense_of_values() > kSmallCase) {
    const std::uint64_t expense = trial.expense() * left.size();
    if (expense > left_for_large_) return {};
    left_for_large_ -= expense;
  }
  std::erase_if(left, [&](std::uint32_t i) { return trial.effect_of(models_[i]) != MutantEffect::condemned; });
  return left;
}

void PowerMeter::add(const Case& test_case) {
  asked_.insert(operator_of(test_case));
  cases_.insert(digest_of(test_case));
  const auto kills = table_.killed_by(test_case, killed_);
  killed_.insert(kills.begin(), kills.end());
}

Result<DetectionPower> PowerMeter::power(const Contracts& contracts, std::uint64_t seed) const {
  MutantTable table(policy_);
  // Mutants that are wrong, of operators that the backend computes.
  std::set<std::uint32_t> owed = killed_;
  for (std::uint32_t i = 0; i < table.mutants().size(); ++i) {
    const Mutant& mutant = table.mutants()[i];
    if (asked_.contains(mutant.op) && !mutant.is_admitted()) owed.insert(i);
  }
  std::set<std::uint32_t> apply = killed_;
  QCONFORM_ASSIGN(auto suites, further_suites(contracts, seed));
  for (const auto& suite : suites) {
    while (!std::includes(apply.begin(), apply.end(), owed.begin(), owed.end())) {
      QCONFORM_ASSIGN(const auto next, suite->next());
      if (!next) break;
      if (cases_.contains(digest_of(*next)) || !asked_.contains(operator_of(*next)) || !takes(contracts, *next))
        continue;
      const auto kills = table.killed_by(*next, apply);
      apply.insert(kills.begin(), kills.end());
    }
  }
  owed.insert(apply.begin(), apply.end());
  DetectionPower power{killed_.size(), apply.size(), owed.size() - apply.size(), {}};
  for (const std::uint32_t i : apply) {
    const Mutant& mutant = table.mutants()[i];
    if (!killed_.contains(i)) power.survivors.push_back(fmt::format("{} in {}", mutant.defect->id, mutant.op->name));
  }
  return power;
}

}  // namespace qconform::diagnose
