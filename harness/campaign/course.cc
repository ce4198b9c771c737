#include "harness/campaign/course.h"

#include <algorithm>
#include <utility>

namespace qconform::campaign {
namespace {

void add_group(const Course::Group& from, Course::Group& to) {
  to.cases += from.cases;
  to.failures += from.failures;
  to.seconds += from.seconds;
}

}  // namespace

void Course::add(std::uint64_t block, const Group& found, const Reached& reached) {
  add(of(1, {{block, found}}, reached));
}

void Course::add(const Course& other) {
  widen(std::max(group_blocks_, other.group_blocks_));
  for (const auto& [first, group] : other.groups_) add_group(group, groups_[first / group_blocks_ * group_blocks_]);
  while (groups_.size() > kMostGroups) widen(2 * group_blocks_);
  for (const auto& [hazard, first] : other.reached_) {
    const auto at = reached_.try_emplace(hazard, first).first;
    at->second = std::min(at->second, first);
  }
}

void Course::widen(std::uint64_t group_blocks) {
  if (group_blocks == group_blocks_) return;
  group_blocks_ = group_blocks;
  for (const auto& [first, group] : std::exchange(groups_, {})) {
    add_group(group, groups_[first / group_blocks_ * group_blocks_]);
  }
}

Course Course::of(std::uint64_t group_blocks, std::map<std::uint64_t, Group> groups, Reached reached) {
  Course course;
  course.group_blocks_ = group_blocks;
  course.groups_ = std::move(groups);
  course.reached_ = std::move(reached);
  return course;
}

CampaignCourse Course::described() const {
  CampaignCourse result;
  result.group_blocks = group_blocks_;
  for (const auto& [first, group] : groups_) {
    result.groups.push_back({first, group.cases, group.failures, group.seconds});
  }
  for (const auto& [hazard, first] : reached_) result.hazards.push_back({std::string(info_of(hazard).id), first});
  std::stable_sort(result.hazards.begin(), result.hazards.end(),
                   [](const auto& a, const auto& b) { return a.first_case < b.first_case; });
  return result;
}

}  // namespace qconform::campaign
