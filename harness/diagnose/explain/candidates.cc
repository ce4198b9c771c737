#include "harness/diagnose/explain/candidates.h"

#include <algorithm>

namespace qconform::diagnose {
namespace {

std::string_view name_of_arithmetic(RoundingProfile profile) {
  switch (profile) {
    case RoundingProfile::correctly_rounded: return "correctly-rounded";
    case RoundingProfile::ort_f32: return "ort-f32";
    case RoundingProfile::onnx_reference: break;
  }
  return "onnx-reference";
}

// Where products of scales over- or underflow, one arithmetic's answer can be far from another's.
bool is_beyond_domain(const Observation& observation) {
  const NodeDescription node = description_of(observation.modelled().lowered());
  const auto* quantized = std::get_if<const QLinearConv*>(&node);
  if (quantized == nullptr) return false;
  const std::size_t channels = (*quantized)->w_scale.size();
  for (std::size_t m = 0; m < channels; ++m) {
    if (!reference::within_domain((*quantized)->requantization(m))) return true;
  }
  return false;
}

bool has_arithmetic_of_its_own(const DefectSet& candidate) {
  return std::any_of(candidate.defects.begin(), candidate.defects.end(), [](const Defect* defect) {
    const std::vector<std::string_view> stages = stages_of(*defect);
    return std::find(stages.begin(), stages.end(), "product") != stages.end();
  });
}

}  // namespace

std::vector<Arithmetic> arithmetics(Op op, const Policy& policy) {
  const RoundingProfile own = arithmetic_of(policy.profile);
  std::vector<Arithmetic> all{{std::string(name_of_arithmetic(own)), Model(own)}};
  if (op != Op::qlinear_conv || !tier_of(policy.profile) || policy.profile == Profile::correctly_rounded) return all;
  for (const auto& expression : reference::float_expressions()) {
    all.push_back({std::string(expression.name), Model(expression)});
  }
  return all;
}

std::string DefectSet::name() const {
  std::string text;
  for (const Defect* defect : defects) text += (text.empty() ? "" : "+") + std::string(defect->id);
  return text;
}

Model CandidateTest::model_of(const DefectSet& candidate, std::size_t arithmetic) const {
  Model model = arithmetics_[arithmetic].model;
  for (const Defect* defect : candidate.defects) static_cast<void>(model.add(*defect));
  return model;
}

std::optional<std::uint64_t> CandidateTest::legal_under(const DefectSet& candidate, std::size_t arithmetic,
                                                        std::span<const Observation* const> evidence) const {
  const Model model = model_of(candidate, arithmetic);
  std::uint64_t legal = 0;
  for (const Observation* observation : evidence) {
    const Match found = outcome_of(model, *observation);
    legal += found.legal;
    if (!found.holds) return std::nullopt;
  }
  return legal;
}

// First the policy's own arithmetic. The others come into question only where it is off by a step.
bool CandidateTest::fits(DefectSet& candidate, std::span<const Observation* const> evidence) const {
  const Model model = model_of(candidate, candidate.arithmetic);
  const std::size_t choices = has_arithmetic_of_its_own(candidate) ? 1 : arithmetics_.size();
  bool is_exact = true;
  for (const Observation* observation : evidence) {
    const Match found = outcome_of(model, *observation);
    if (found.is_exact()) continue;
    const bool may_be_arithmetic = choices > 1 && (found.is_near || is_beyond_domain(*observation));
    if (!found.holds && !may_be_arithmetic) return false;
    is_exact = false;
    if (!found.holds) break;
  }
  if (is_exact) {
    candidate.legal = 0;
    return true;
  }
  // The first that reproduces every byte; else the first that is contradicted nowhere.
  bool holds = false;
  for (std::size_t a = 0; a < choices; ++a) {
    const auto legal = legal_under(candidate, a, evidence);
    if (!legal || (holds && *legal > 0)) continue;
    holds = true;
    candidate.arithmetic = a;
    candidate.legal = *legal;
    if (*legal == 0) return true;
  }
  return holds;
}

Match CandidateTest::outcome_of(const Model& model, const Observation& observation) const {
  work_ += observation.modelled().expense();
  return match(observation, observation.modelled().run(model));
}

std::vector<DefectSet> single_candidates(std::span<const Defect* const> defects) {
  std::vector<DefectSet> all;
  for (const Defect* defect : defects) all.push_back({{defect}});
  return all;
}

std::vector<DefectSet> pair_candidates(std::span<const Defect* const> defects) {
  std::vector<DefectSet> all;
  for (std::size_t i = 0; i < defects.size(); ++i) {
    for (std::size_t j = i + 1; j < defects.size(); ++j) {
      if (pair_of(*defects[i], *defects[j])) all.push_back({{defects[i], defects[j]}});
    }
  }
  return all;
}

}  // namespace qconform::diagnose
