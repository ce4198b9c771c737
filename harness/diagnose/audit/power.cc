#include "harness/diagnose/audit/power.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/suites/select.h"

namespace qconform::diagnose {
namespace {

// Cases of which some are likely to kill what a backend's own have not.
Result<std::vector<std::unique_ptr<Suite>>> further_suites(const Contracts& contracts, std::uint64_t seed) {
  QCONFORM_ASSIGN(auto suites, open_suite("corpus", {}));
  if (auto within = suite_within(contracts, "power", seed)) suites.push_back(std::move(within));
  for (auto& drawn : drawn_within(contracts, "power", seed + 1)) suites.push_back(std::move(drawn));
  return suites;
}

}  // namespace

MutantTable::MutantTable(const Policy& policy) : policy_(policy), mutants_(all_mutants()) {
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
  if (trial.expense() > kSmallCase) {
    const std::uint64_t expense = trial.expense() * left.size();
    if (expense > left_for_large_) return {};
    left_for_large_ -= expense;
  }
  std::erase_if(left, [&](std::uint32_t i) { return trial.effect_of(models_[i]) != Effect::condemned; });
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
    if (asked_.contains(mutant.op) && !mutant.defect->admitted.contains(mutant.op->name)) owed.insert(i);
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
