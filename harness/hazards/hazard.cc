#include "harness/hazards/hazard.h"

#include <algorithm>

namespace qconform {
namespace {

constexpr std::uint8_t C = 1;
constexpr std::uint8_t I = 2;
constexpr std::uint8_t Q = 4;
constexpr std::uint8_t D = 8;

constexpr HazardInfo kInfos[] = {
#define QCONFORM_HAZARD(name, id, label, operators, rules, explanation) \
  {Hazard::name, id, label, operators, rules, explanation},
#include "harness/hazards/hazards.inc"
#undef QCONFORM_HAZARD
};

}  // namespace

bool HazardInfo::concerns(std::string_view op_type) const {
  for (std::size_t i = 0; i < kHazardOperators.size(); ++i) {
    if (kHazardOperators[i] == op_type) return (operators >> i & 1U) != 0;
  }
  return false;
}

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
