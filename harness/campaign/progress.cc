#include "harness/campaign/progress.h"

#include <algorithm>

namespace qconform::campaign {
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
                                                  [](const auto& entry) { return entry.first.waiver.empty(); }));
}

bool note_failures(const CampaignAggregate& sum, std::set<FailureKey>& seen) {
  const std::size_t before = seen.size();
  for (const auto& [key, found] : sum.failures) {
    if (key.waiver.empty()) seen.insert(key);
  }
  return seen.size() > before;
}

}  // namespace qconform::campaign
