#include "harness/engine/shrink/failure.h"

#include <algorithm>

namespace qconform::shrink {
namespace {

// An integer output that is wrong by 1 where it is wrong most.
bool is_off_by_one(const Verdict& verdict) {
  return verdict.worst && verdict.worst->distance == 1;
}

// What of the detail is the same however large the case: "signal 11", "before".
std::string constant_detail(const Verdict& verdict) {
  switch (verdict.kind) {
    case VerdictKind::crashed: return verdict.detail.substr(0, verdict.detail.find(':'));
    case VerdictKind::out_of_bounds:
    case VerdictKind::read_out_of_bounds: return verdict.detail.find("before") == std::string::npos ? "past" : "before";
    default: return {};
  }
}

}  // namespace

Lane lane_of(const Classification& classification) {
  Lane lane{classification.expectation(), {}, classification.value_is_open};
  if (const auto& violation = classification.contract.violation) {
    lane.rules.push_back(violation->rule + " " + violation->field);
    return lane;
  }
  for (const reference::Remark& remark : classification.contract.latitude) lane.rules.push_back(remark.rule);
  std::sort(lane.rules.begin(), lane.rules.end());
  lane.rules.erase(std::unique(lane.rules.begin(), lane.rules.end()), lane.rules.end());
  return lane;
}

Failure::Failure(const Verdict& verdict, bool of_one_node)
    : kind_(verdict.kind),
      rule_(verdict.rule),
      detail_(constant_detail(verdict)),
      off_by_one_(of_one_node && is_off_by_one(verdict)) {}

bool Failure::matches(const Verdict& verdict) const {
  return verdict.kind == kind_ && verdict.rule == rule_ && constant_detail(verdict) == detail_ &&
         (!off_by_one_ || is_off_by_one(verdict));
}

}  // namespace qconform::shrink
