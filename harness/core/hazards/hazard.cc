#include "harness/core/hazards/hazard.h"

#include <algorithm>

namespace qconform {
namespace {

constexpr HazardInfo kInfos[] = {
#define QCONFORM_HAZARD(name, id, label, topic, rules, explanation) \
  {Hazard::name, id, label, HazardTopic::topic, rules, explanation},
#include "harness/core/hazards/hazards.inc"
#undef QCONFORM_HAZARD
};

}  // namespace

std::span<const HazardInfo> hazards() {
  return kInfos;
}

const HazardInfo& info_of(Hazard hazard) {
  return kInfos[static_cast<std::size_t>(hazard)];
}

const HazardInfo* hazard_with_id(std::string_view id) {
  const auto* found =
      std::find_if(std::begin(kInfos), std::end(kInfos), [&](const HazardInfo& i) { return i.id == id; });
  return found == std::end(kInfos) ? nullptr : found;
}

}  // namespace qconform
