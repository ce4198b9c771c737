#include "harness/diagnose/explain/probe_targets.h"

#include <algorithm>
#include <iterator>

#include "harness/diagnose/explain/pattern.h"

namespace qconform::diagnose {
namespace {

std::vector<Hazard> hazards_near(const Defect& defect, const Operator& op) {
  std::vector<Hazard> wanted;
  for (const StageInfo* stage : replaced_stages(defect)) {
    std::copy_if(stage->hazards.begin(), stage->hazards.end(), std::back_inserter(wanted),
                 [&](Hazard hazard) { return info_of(hazard).concerns(op.name); });
  }
  return wanted;
}

}  // namespace

std::vector<Hazard> common_hazards(const Operator& op, std::span<const Observation* const> failures) {
  const std::string_view pattern = pattern_of(failures).id;
  const bool is_rounding = pattern == "ties" || pattern == "near-ties";
  std::vector<Hazard> common;
  for (const HazardInfo& info : hazards()) {
    if (!info.concerns(op.name)) continue;
    const bool is_common = std::all_of(failures.begin(), failures.end(), [&](const Observation* observation) {
      return observation->expected().hazards[info.hazard] > 0;
    });
    if (is_common || (is_rounding && info.hazard <= Hazard::near_tie_below)) common.push_back(info.hazard);
  }
  return common;
}

std::vector<Hazard> separating_hazards(const Operator& op, std::span<const DefectSet* const> candidates,
                                       std::span<const Defect* const> known, bool few_failures) {
  std::vector<Hazard> separating;
  for (const Defect* defect : known) {
    const auto with = std::count_if(candidates.begin(), candidates.end(), [&](const DefectSet* candidate) {
      return std::find(candidate->defects.begin(), candidate->defects.end(), defect) != candidate->defects.end();
    });
    const bool is_common = with == static_cast<std::ptrdiff_t>(candidates.size()) && !few_failures;
    if (with == 0 || is_common) continue;
    for (const Hazard hazard : hazards_near(*defect, op)) separating.push_back(hazard);
  }
  return separating;
}

}  // namespace qconform::diagnose
