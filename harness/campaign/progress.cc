#include "harness/campaign/progress.h"

#include <algorithm>

#include "harness/campaign/block_diagnosis.h"

namespace qconform::campaign {
namespace {

bool is_finding(const FailureKey& key) {
  return key.waiver.empty() && key.symptom != kUnexamined;
}

}  // namespace

Progress progress_of(const CampaignAggregate& sum) {
  Progress progress;
  progress.suite = sum.suite.name;
  progress.cases = sum.suite.cases;
  progress.elements = sum.suite.elements;
  for (const HazardInfo& info : qconform::hazards()) {
    progress.hazards += sum.hazards.is_applicable(info.hazard) ? 1 : 0;
    progress.hazards_reached += sum.hazards.total(info.hazard).cases > 0 ? 1 : 0;
  }
  progress.failures = sum.unwaived();
  return progress;
}

std::uint64_t kinds_of(const CampaignAggregate& sum) {
  return static_cast<std::uint64_t>(std::count_if(sum.failures.begin(), sum.failures.end(),
                                                  [](const auto& entry) { return is_finding(entry.first); }));
}

bool note_failures(const CampaignAggregate& sum, std::set<FailureKey>& seen) {
  const std::size_t before = seen.size();
  for (const auto& [key, found] : sum.failures) {
    if (is_finding(key)) seen.insert(key);
  }
  return seen.size() > before;
}

}  // namespace qconform::campaign
