// Audits what relations detect of the defect models, without the right answer.
#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>

#include "harness/diagnose/audit/audit.h"
#include "harness/engine/relation_check.h"
#include "harness/model/defects/modelled_case.h"
#include "harness/model/judge/judge.h"

namespace qconform::diagnose {
namespace {

class RelationAuditor {
 public:
  RelationAuditor(std::string suite, const AuditOptions& options, const BackendOfModel& backend_of)
      : options_(options) {
    audit_.suite = std::move(suite);
    audit_.mutants = all_mutants();
    for (const Mutant& mutant : audit_.mutants) {
      Model model(arithmetic_of(options.policy.profile));
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
      audit_.graphs += next->is_one_node() ? 0 : 1;
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

}  // namespace qconform::diagnose
