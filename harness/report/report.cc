#include "harness/report/report.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "harness/model/operator.h"
#include "harness/report/corner_case_coverage.h"

namespace qconform {

CornerCaseCoverage::CornerCaseCoverage() = default;
CornerCaseCoverage::CornerCaseCoverage(const CornerCaseCoverage& other) = default;
CornerCaseCoverage::CornerCaseCoverage(CornerCaseCoverage&& other) noexcept = default;
CornerCaseCoverage& CornerCaseCoverage::operator=(const CornerCaseCoverage& other) = default;
CornerCaseCoverage& CornerCaseCoverage::operator=(CornerCaseCoverage&& other) noexcept = default;
CornerCaseCoverage::~CornerCaseCoverage() = default;

void CornerCaseCoverage::note(const std::string& op_type) {
  by_operator_.try_emplace(op_type);
}

void CornerCaseCoverage::add(const std::string& op_type, const std::string& types, const CornerCaseCounts& counts) {
  Totals& totals = by_operator_[op_type][types];
  for (std::size_t i = 0; i < kCornerCases; ++i) {
    if (counts.all()[i] == 0) continue;
    ++totals[i].cases;
    totals[i].elements += counts.all()[i];
  }
}

void CornerCaseCoverage::add(const std::string& op_type, const std::string& types, const Totals& totals) {
  Totals& sum = by_operator_[op_type][types];
  for (std::size_t i = 0; i < kCornerCases; ++i) {
    sum[i].cases += totals[i].cases;
    sum[i].elements += totals[i].elements;
  }
}

void CornerCaseCoverage::add(const CornerCaseCoverage& other) {
  for (const auto& [op_type, by_types] : other.by_operator_) {
    note(op_type);
    for (const auto& [types, totals] : by_types) add(op_type, types, totals);
  }
}

CornerCaseTotal CornerCaseCoverage::total(CornerCase corner_case) const {
  CornerCaseTotal sum;
  for (const auto& [op_type, by_types] : by_operator_) {
    for (const auto& [types, totals] : by_types) {
      sum.cases += totals[static_cast<std::size_t>(corner_case)].cases;
      sum.elements += totals[static_cast<std::size_t>(corner_case)].elements;
    }
  }
  return sum;
}

bool CornerCaseCoverage::is_applicable(CornerCase corner_case) const {
  for (const auto& [op_type, by_types] : by_operator_) {
    if (concerns(info_of(corner_case), op_type)) return true;
  }
  return false;
}

bool CornerCaseCoverage::operator==(const CornerCaseCoverage& other) const {
  const auto reached = [](const CornerCaseCoverage& coverage) {
    std::map<std::tuple<std::string, std::string, std::size_t>, CornerCaseTotal> result;
    for (const auto& [op_type, by_types] : coverage.by_operator_) {
      for (const auto& [types, totals] : by_types) {
        for (std::size_t i = 0; i < kCornerCases; ++i) {
          if (totals[i].cases > 0) result[{op_type, types, i}] = totals[i];
        }
      }
    }
    return result;
  };
  const auto agree = [&](const CornerCaseInfo& info) {
    return is_applicable(info.corner_case) == other.is_applicable(info.corner_case);
  };
  return std::all_of(corner_cases().begin(), corner_cases().end(), agree) && reached(*this) == reached(other);
}

std::uint64_t OperatorResult::cases() const {
  return std::accumulate(verdicts.begin(), verdicts.end(), std::uint64_t{0});
}

std::uint64_t OperatorResult::failing() const {
  std::uint64_t sum = 0;
  for (int i = 0; i < kVerdictKinds; ++i) {
    const auto kind = static_cast<VerdictKind>(i);
    if (is_failure(kind)) sum += count(kind);
  }
  return sum;
}

std::uint64_t OperatorResult::waived_failing() const {
  return std::accumulate(waived.begin(), waived.end(), std::uint64_t{0});
}

std::uint64_t OperatorResult::attempted() const {
  std::uint64_t others = count(VerdictKind::not_rejected) + count(VerdictKind::not_judged);
  for (int i = 0; i < kVerdictKinds; ++i) {
    if (is_refusal(static_cast<VerdictKind>(i))) others += verdicts[static_cast<std::size_t>(i)];
  }
  return cases() - others;
}

std::uint64_t BackendResult::count(VerdictKind kind) const {
  std::uint64_t sum = 0;
  for (const auto& [name, result] : operators) sum += result.count(kind);
  return sum;
}

std::uint64_t BackendResult::waived(VerdictKind kind) const {
  std::uint64_t sum = 0;
  for (const auto& [name, result] : operators) sum += result.waived[static_cast<std::size_t>(kind)];
  return sum;
}

bool BackendResult::has_computed(const std::string& op_type) const {
  const auto found = operators.find(op_type);
  return found != operators.end() && found->second.attempted() > 0;
}

std::uint64_t BackendResult::cases() const {
  std::uint64_t sum = 0;
  for (const auto& [name, result] : operators) sum += result.cases();
  return sum;
}

bool BackendResult::fails() const {
  const auto has_failure = [](const auto& named) { return named.second.failing() > named.second.waived_failing(); };
  const auto is_broken = [](const RelationResult& relation) { return relation.broken + relation.failed > 0; };
  return std::any_of(operators.begin(), operators.end(), has_failure) || failed_bases > 0 ||
         std::any_of(relations.begin(), relations.end(), is_broken);
}

std::string_view name_of(Conclusion conclusion) {
  switch (conclusion) {
    case Conclusion::conforms: return "conforms";
    case Conclusion::does_not_conform: return "does not conform";
    case Conclusion::judged_in_part: return "judged in part";
    case Conclusion::not_fused: return "not fused";
    case Conclusion::agrees_in_part: return "agrees in part";
    case Conclusion::too_few_nodes: return "too few nodes judged";
    case Conclusion::nothing_judged: break;
    case Conclusion::disputed: return "disputed";
  }
  return "nothing was judged";
}

Conclusion BackendResult::conclusion() const {
  if (fails()) return Conclusion::does_not_conform;
  if (!stopped.empty()) return Conclusion::judged_in_part;
  if (fusion && fusion->is_missing()) return Conclusion::not_fused;
  if (!is_judged()) return Conclusion::nothing_judged;
  if (!is_short_of_nodes()) return Conclusion::conforms;
  return min_judged ? Conclusion::too_few_nodes : Conclusion::agrees_in_part;
}

bool BackendResult::is_judged() const {
  const bool any_held = std::any_of(relations.begin(), relations.end(), [](const auto& r) { return r.held > 0; });
  if (!relations.empty() && !any_held) return false;
  return relations.empty() || cases() > 0 ? count(VerdictKind::pass) > 0 : any_held;
}

bool BackendResult::is_short_of_nodes() const {
  const std::uint64_t least = min_judged.value_or(kUsualMinJudged);
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const NodeCoverage& model) { return model.covered * 100 < least * model.quantized(); });
}

bool Diagnosis::is_lossy_by_design() const {
  const bool is_sure = status == "explained" || status == "reproduced";
  return is_sure && !defects.empty() &&
         std::all_of(defects.begin(), defects.end(), [](const auto& defect) { return !defect.avoided_by.empty(); });
}

TierCounts BackendResult::tiers() const {
  TierCounts sum;
  for (const auto& [name, result] : operators) sum.add(result.tiers);
  return sum;
}

void BackendResult::note_lost(const std::string& case_id, const std::string& how) {
  if (how.empty()) return;
  ++lost[how];
  if (lost_cases.size() < kLostListed) lost_cases.push_back(case_id + ": " + how);
}

void BackendResult::note_worst(const std::string& case_id, const ElementReport& element) {
  const auto place = std::find_if(worst.begin(), worst.end(),
                                  [&](const WorstElement& w) { return w.element.distance < element.distance; });
  worst.insert(place, {case_id, element});
  if (worst.size() > kWorstElements) worst.pop_back();
}

bool RepresentativeCase::is_clearer_than(const RepresentativeCase& other) const {
  const std::uint64_t both = std::min(right_elements, wrong_elements);
  const std::uint64_t others = std::min(other.right_elements, other.wrong_elements);
  return both != others ? both > others : wrong_elements > other.wrong_elements;
}

bool CampaignResult::is_part() const {
  std::set<std::string> shards;
  for (const CampaignRun& run : runs) shards.insert(run.shard);
  if (shards.empty() || shards.contains("")) return false;
  const std::string& any = *shards.begin();
  return std::to_string(shards.size()) != any.substr(any.find('/') + 1);
}

bool Report::is_disputed() const {
  return std::any_of(suites.begin(), suites.end(), [](const SuiteResult& suite) { return !suite.disputed.empty(); });
}

Conclusion Report::conclusion() const {
  const bool is_part = campaign && campaign->is_part();
  Conclusion of_others = Conclusion::conforms;
  bool any_judged = is_part;
  for (const BackendResult& backend : backends) {
    if (!backend.decides) continue;
    const Conclusion one = backend.conclusion();
    if (one == Conclusion::does_not_conform) return one;
    any_judged = any_judged || backend.is_judged();
    const bool is_worse =
        of_others == Conclusion::conforms || (of_others == Conclusion::agrees_in_part && !backend.conforms());
    if (is_worse && !is_part) of_others = one;
  }
  if (is_disputed()) return Conclusion::disputed;
  if (of_others != Conclusion::conforms) return of_others;
  return any_judged ? Conclusion::conforms : Conclusion::nothing_judged;
}

std::string finding_id(std::size_t position) {
  return "F" + std::to_string(position + 1);
}

}  // namespace qconform
