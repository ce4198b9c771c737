// Why a mutant survives: which hazards a suite has to reach for it to show.
#include <algorithm>
#include <iterator>

#include "harness/diagnose/audit/audit.h"

namespace qconform::diagnose {
namespace {

std::string joined_labels(const std::vector<Hazard>& hazards) {
  std::string text;
  for (const Hazard hazard : hazards) text += (text.empty() ? "" : ", ") + std::string(info_of(hazard).label);
  return text;
}

}  // namespace

std::vector<Hazard> hazards_behind(const Defect& defect, const Operator& op) {
  std::vector<Hazard> concerned;
  std::copy_if(defect.hazards.begin(), defect.hazards.end(), std::back_inserter(concerned),
               [&](Hazard hazard) { return info_of(hazard).concerns(op.name); });
  return concerned;
}

Survival Audit::survival(const Mutant& mutant) const {
  if (mutant.cases == 0) return {"no case of the operator", {}};
  const std::string trigger(mutant.defect->trigger);
  if (mutant.differed > 0) {
    return {"differs on " + std::to_string(mutant.differed) + " cases, where its answers are admissible", {}};
  }
  const std::vector<Hazard> behind = hazards_behind(*mutant.defect, *mutant.op);
  std::vector<Hazard> unreached;
  for (const Hazard hazard : behind) {
    if (reached(mutant.op->name, hazard) == 0) unreached.push_back(hazard);
  }
  if (behind.empty()) return {"no case has " + trigger, {}};
  if (unreached.size() == behind.size()) return {"never reached: " + joined_labels(unreached), unreached};
  return {"its hazard is reached, but not where it shows: " + trigger, unreached};
}

}  // namespace qconform::diagnose
