#include "harness/diagnose/explain/candidates.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace qconform::diagnose {

namespace {

std::string_view name_of_arithmetic(RoundingProfile profile) {
  switch (profile) {
    case RoundingProfile::correctly_rounded: return "correctly-rounded";
    case RoundingProfile::ort_f32: return "ort-f32";
    case RoundingProfile::onnx_reference: return "onnx-reference";
    case RoundingProfile::tflite: return "tflite";
    case RoundingProfile::tflite_single_rounding: break;
  }
  return "tflite-single-rounding";
}

}  // namespace

std::vector<Arithmetic> arithmetics(const Operator& op, const Policy& policy) {
  const RoundingProfile own = arithmetic_of(policy.profile);
  std::vector<Arithmetic> all{{.name = std::string(name_of_arithmetic(own)), .models = {Model(own)}}};
  if (const auto further = family_of("", op.name)->arithmetics) {
    for (Arithmetic& arithmetic : further(op, policy)) all.push_back(std::move(arithmetic));
  }
  return all;
}

CandidateTest::CandidateTest(const Operator& op, const Policy& policy, const Arithmetic* base)
    : arithmetics_(arithmetics(op, policy)), has_base_(base != nullptr) {
  if (base == nullptr) return;
  std::erase_if(arithmetics_, [&](const Arithmetic& one) { return one.name == base->name; });
  arithmetics_.insert(arithmetics_.begin(), *base);
}

std::string DefectSet::name() const {
  std::string text;
  for (const Defect* defect : defects) text += (text.empty() ? "" : "+") + std::string(defect->id);
  return text;
}

bool CandidateTest::arithmetics_diverge(const Observation& observation) {
  const ModelledCase& modelled = observation.modelled();
  const auto diverge = modelled.family().arithmetics_diverge;
  return diverge != nullptr && diverge(modelled.lowered());
}

NodeModels CandidateTest::model_of(const DefectSet& candidate, std::size_t arithmetic) const {
  NodeModels models = arithmetics_[arithmetic].models;
  for (const Defect* defect : candidate.defects) {
    static_cast<void>(models.common.add(*defect));
    for (auto& [pattern, model] : models.of_kinds) static_cast<void>(model.add(*defect));
  }
  return models;
}

std::size_t CandidateTest::choices_for(const DefectSet& candidate) const {
  std::vector<const StageInfo*> replaced;
  for (const Defect* defect : candidate.defects) {
    const auto stages = replaced_stages(*defect);
    replaced.insert(replaced.end(), stages.begin(), stages.end());
  }
  const auto leaves_nothing = [&](const Model& model) {
    const auto stages = model.original().replaced();
    return std::find_first_of(stages.begin(), stages.end(), replaced.begin(), replaced.end()) != stages.end();
  };
  for (const Arithmetic& arithmetic : arithmetics_) {
    if (leaves_nothing(arithmetic.models.common)) return 1;
    for (const auto& [pattern, model] : arithmetic.models.of_kinds) {
      if (leaves_nothing(model)) return 1;
    }
  }
  return arithmetics_.size();
}

std::optional<std::uint64_t> CandidateTest::legal_under(const DefectSet& candidate, std::size_t arithmetic,
                                                        std::span<const Observation* const> evidence) const {
  const NodeModels model = model_of(candidate, arithmetic);
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
  const NodeModels model = model_of(candidate, candidate.arithmetic);
  const std::size_t choices = choices_for(candidate);
  bool is_exact = true;
  for (const Observation* observation : evidence) {
    const Match found = outcome_of(model, *observation);
    if (found.is_exact()) continue;
    const bool may_be_arithmetic = choices > 1 && (found.is_near || arithmetics_diverge(*observation));
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

Match CandidateTest::outcome_of(const NodeModels& model, const Observation& observation) const {
  work_ += observation.modelled().expense();
  return match(observation, model.run(observation.modelled()));
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

std::vector<const Observation*> failures_of(const Evidence& evidence) {
  std::vector<const Observation*> failures;
  for (const auto& observation : evidence) {
    if (observation->is_failure()) failures.push_back(observation.get());
  }
  return failures;
}

std::vector<const Observation*> in_testing_order(const Evidence& evidence) {
  std::vector<const Observation*> ordered;
  for (const auto& observation : evidence) ordered.push_back(observation.get());
  std::stable_sort(ordered.begin(), ordered.end(), [](const Observation* a, const Observation* b) {
    return std::tuple(!a->is_failure(), a->work()) < std::tuple(!b->is_failure(), b->work());
  });
  return ordered;
}

}  // namespace qconform::diagnose
