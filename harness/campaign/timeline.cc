#include "harness/campaign/timeline.h"

#include <algorithm>

namespace qconform::campaign {
namespace {

using Group = CampaignTimeline::Group;
using Reached = CampaignTimeline::Reached;

// Adds up ascending groups that lie in one of that width.
std::vector<Group> widened(const std::vector<Group>& groups, std::uint64_t group_blocks) {
  std::vector<Group> result;
  for (const Group& group : groups) {
    const std::uint64_t first = group.first / group_blocks * group_blocks;
    if (result.empty() || result.back().first != first) result.emplace_back().first = first;
    result.back().cases += group.cases;
    result.back().failures += group.failures;
    result.back().seconds += group.seconds;
  }
  return result;
}

void merge_groups(const CampaignTimeline& from, CampaignTimeline& into) {
  into.group_blocks = std::max(from.group_blocks, into.group_blocks);
  std::vector<Group> all;
  std::merge(into.groups.begin(), into.groups.end(), from.groups.begin(), from.groups.end(), std::back_inserter(all),
             [](const Group& a, const Group& b) { return a.first < b.first; });
  into.groups = widened(all, into.group_blocks);
  while (into.groups.size() > kMostGroups) {
    into.group_blocks *= 2;
    into.groups = widened(into.groups, into.group_blocks);
  }
}

// By first case, then in the order of their list.
void sort(std::vector<Reached>& corner_cases) {
  std::sort(corner_cases.begin(), corner_cases.end(), [](const Reached& a, const Reached& b) {
    if (a.first_case != b.first_case) return a.first_case < b.first_case;
    return corner_case_with_id(a.corner_case)->corner_case < corner_case_with_id(b.corner_case)->corner_case;
  });
}

}  // namespace

CampaignTimeline timeline_of_block(const Group& found, const FirstCases& reached) {
  CampaignTimeline timeline;
  timeline.groups = {found};
  for (const auto& [corner_case, first] : reached)
    timeline.corner_cases.push_back({std::string(info_of(corner_case).id), first});
  sort(timeline.corner_cases);
  return timeline;
}

void merge(const CampaignTimeline& from, CampaignTimeline& into) {
  merge_groups(from, into);
  for (const Reached& reached : from.corner_cases) {
    const auto known = std::find_if(into.corner_cases.begin(), into.corner_cases.end(),
                                    [&](const Reached& other) { return other.corner_case == reached.corner_case; });
    if (known == into.corner_cases.end()) {
      into.corner_cases.push_back(reached);
    } else {
      known->first_case = std::min(known->first_case, reached.first_case);
    }
  }
  sort(into.corner_cases);
}

}  // namespace qconform::campaign
