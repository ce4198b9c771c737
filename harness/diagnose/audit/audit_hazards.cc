// Which hazards a suite has to reach for a defect to show.
#include <map>

#include "harness/diagnose/audit/audit.h"

namespace qconform::diagnose {
namespace {

using Hazards = std::vector<Hazard>;

// Any one of them lets the defect show. Defects that are not listed show in ordinary cases, or need a
// parameter that is no hazard by value; their trigger says which.
const std::map<std::string_view, Hazards>& hazards_by_defect() {
  static const std::map<std::string_view, Hazards> all{
      {"dil-x-for-y", {Hazard::dilations_differ}},
      {"pads-order", {Hazard::pads_asymmetric}},
      {"asym-pads-symmetrised", {Hazard::pads_asymmetric}},
      {"same-swap", {Hazard::same_odd_padding}},
      {"autopad-no-clamp", {Hazard::same_short_kernel}},
      {"batch0-buffer", {Hazard::batch}},
      {"pointwise-group-base", {Hazard::grouped_pointwise}},
      {"zp-sub-wraps-8bit", {Hazard::wide_difference}},
      {"w-zp-first-channel", {Hazard::channel_zero_points}},
      {"w-zp-group-local", {Hazard::group_parameters}},
      {"pair-sat-i16", {Hazard::pair_saturation}},
      {"acc-wrap-i16-9tap", {Hazard::tap_sum_wrap}},
      {"f32-accumulate", {Hazard::float_accumulation}},
      {"no-valid-tap", {Hazard::padding_only_window}},
      {"i32-sat", {Hazard::int32_wrap}},
      {"w-scale-group-local", {Hazard::group_parameters}},
      {"double-round", {Hazard::tie_positive, Hazard::tie_negative, Hazard::near_tie_above, Hazard::near_tie_below}},
      {"q31-single-round", {Hazard::tie_negative, Hazard::near_tie_above, Hazard::near_tie_below}},
      {"scale-associate-right", {Hazard::near_tie_above, Hazard::near_tie_below}},
      {"scale-double", {Hazard::near_tie_above, Hazard::near_tie_below}},
      {"reciprocal", {Hazard::near_tie_above, Hazard::near_tie_below}},
      {"half-away", {Hazard::tie_positive, Hazard::tie_negative}},
      {"half-up", {Hazard::tie_positive, Hazard::tie_negative}},
      {"zp-before-round", {Hazard::tie_odd_zero_point}},
      {"clamp-before-zp", {Hazard::clamp_low, Hazard::clamp_high}},
      {"wrap-not-saturate", {Hazard::clamp_low, Hazard::clamp_high}},
      {"axis-ignored", {Hazard::parameters_differ}},
      {"neg-axis", {Hazard::negative_axis}},
      {"blocked-interleave", {Hazard::parameters_differ}},
      {"vec4-tail", {Hazard::size_tail}},
      {"dq-expanded", {Hazard::expanded_product}},
      {"denormal-flush", {Hazard::subnormal_scale, Hazard::subnormal_result}},
  };
  return all;
}

std::string joined_labels(const Hazards& hazards) {
  std::string text;
  for (const Hazard hazard : hazards) text += (text.empty() ? "" : ", ") + std::string(info_of(hazard).label);
  return text;
}

}  // namespace

Hazards hazards_behind(const Defect& defect, Op op) {
  const auto found = hazards_by_defect().find(defect.id);
  if (found == hazards_by_defect().end()) return {};
  Hazards concerned;
  for (const Hazard hazard : found->second) {
    if (info_of(hazard).concerns(name_of(op))) concerned.push_back(hazard);
  }
  return concerned;
}

Survival Audit::survival(const Mutant& mutant) const {
  if (mutant.cases == 0) return {"no case of the operator", {}};
  const std::string trigger(mutant.defect->trigger);
  if (mutant.differed > 0) {
    return {"differs on " + std::to_string(mutant.differed) + " cases, where its answers are admissible", {}};
  }
  const Hazards behind = hazards_behind(*mutant.defect, mutant.op);
  Hazards unreached;
  for (const Hazard hazard : behind) {
    if (reached(mutant.op, hazard) == 0) unreached.push_back(hazard);
  }
  if (behind.empty()) return {"no case has " + trigger, {}};
  if (unreached.size() == behind.size()) return {"never reached: " + joined_labels(unreached), unreached};
  return {"its hazard is reached, but not where it shows: " + trigger, unreached};
}

}  // namespace qconform::diagnose
