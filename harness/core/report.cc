#include "harness/core/report.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace qconform {

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
  std::uint64_t others = count(VerdictKind::not_rejected);
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

bool Report::conforms() const {
  if (campaign && campaign->is_part()) {
    return std::none_of(backends.begin(), backends.end(),
                        [](const BackendResult& b) { return b.decides && b.fails(); });
  }
  return std::any_of(backends.begin(), backends.end(),
                     [](const BackendResult& b) { return b.decides && b.is_judged(); }) &&
         std::all_of(backends.begin(), backends.end(),
                     [](const BackendResult& b) { return !b.decides || b.conforms(); });
}

}  // namespace qconform
