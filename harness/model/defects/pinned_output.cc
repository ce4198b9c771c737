#include "harness/model/defects/pinned_output.h"

#include <algorithm>

#include "harness/model/defects/identify_variants.h"
#include "harness/model/defects/modelled_case.h"

namespace qconform::diagnose {

KindPattern pattern_of(const Pin& pin) {
  KindPattern pattern = pin.types;
  if (!pin.layout.empty()) pattern["layout"] = pin.layout;
  return pattern;
}

std::optional<Tensor> pinned_output(const Case& test_case, const Classification& classification,
                                    const PinnedProfile& profile) {
  const auto modelled = ModelledCase::prepare(test_case, classification);
  if (modelled == nullptr) return std::nullopt;
  const NodeKind kind = kind_of(*modelled);
  const auto pin = std::find_if(profile.pins.begin(), profile.pins.end(), [&](const Pin& p) {
    return p.op_type == modelled->op().name && matches(pattern_of(p), kind);
  });
  if (pin == profile.pins.end()) return std::nullopt;
  Stages stages;
  for (const Choice& choice : choices()) {
    if (choice.op_type != modelled->op().name || !choice.concerns(modelled->lowered())) continue;
    const auto variant = pin->variants.find(choice.id);
    if (variant == pin->variants.end()) return std::nullopt;
    find_variant(choice, variant->second)->replace(stages);
  }
  return modelled->run(stages);
}

Profile named_profile_like(const PinnedProfile& profile) {
  for (const Pin& pin : profile.pins) {
    const Family* family = family_of("", pin.op_type);
    if (!pin.types.empty() || !pin.layout.empty() || family == nullptr || family->profile_of == nullptr) continue;
    if (const auto like = family->profile_of(pin)) return *like;
  }
  return Profile::conformance;
}

}  // namespace qconform::diagnose
