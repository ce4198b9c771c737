#include "harness/campaign/block_diagnosis.h"

#include <algorithm>

#include "harness/base/digest.h"
#include "harness/diagnose/explain/candidates.h"
#include "harness/diagnose/explain/pattern.h"

namespace qconform::campaign {
namespace {

// By which cases are sampled: as good as drawn, and the same in every run.
std::uint64_t hash_of(const Case& test_case) {
  Digest digest;
  digest.add(test_case.provenance.seed);
  digest.add(test_case.provenance.index);
  return digest.value();
}

}  // namespace

std::string symptom_of(const diagnose::Observation& observation) {
  const Operator& op = observation.modelled().op();
  const diagnose::Model own = diagnose::arithmetics(op, observation.expected().policy).front().models.common;
  const diagnose::Defect* first = nullptr;
  for (const diagnose::Defect* defect : diagnose::defects_in(op.name)) {
    diagnose::Model model = own;
    if (!model.add(*defect) || !match(observation, observation.modelled().run(model)).holds) continue;
    if (first != nullptr) return std::string(first->id) + "|...";
    first = defect;
  }
  if (first != nullptr) return std::string(first->id);
  const diagnose::Observation* const alone[] = {&observation};
  return "unexplained:" + std::string(diagnose::pattern_of(alone).id);
}

void BlockDiagnosis::passed(std::size_t backend, const Case& test_case, const Expected& expected) {
  if (!expected.output) return;
  const std::uint64_t hash = hash_of(test_case);
  if (block_ >= kEarlyBlocks && hash % kPassingTurn != 0) return;
  const std::pair key(backend, test_case.subject());
  passing_.try_emplace(key, CampaignAggregate::kSampled)
      .first->second.add(hash, diagnose::features_of(test_case, expected));
}

std::string BlockDiagnosis::failed(std::size_t backend, const Case& test_case, const Expected& expected,
                                   const Outcome& outcome, const Verdict& verdict) {
  if (verdict.kind != VerdictKind::wrong && verdict.kind != VerdictKind::bad_shape) return {};
  const auto observation = diagnose::Observation::borrowing(test_case, expected, outcome);
  if (observation == nullptr || !observation->is_failure()) return {};
  const std::uint64_t number = failed_[{backend, test_case.subject()}]++;
  const std::uint64_t first = block_ < kEarlyBlocks ? kExaminedEarly : kExamined;
  if (number >= first && number % kExaminedAfterwards != 0) return kUnexamined;
  std::string symptom = symptom_of(*observation);
  Examined& examined = examined_[{backend, test_case.subject(), symptom, ""}];
  ++examined.cases;
  examined.sample.add(hash_of(test_case), diagnose::features_of(test_case, expected));
  return symptom;
}

void BlockDiagnosis::add_to(CampaignAggregate& aggregate) const {
  for (const auto& [key, sample] : passing_)
    aggregate.passing.try_emplace(key, CampaignAggregate::kSampled).first->second.add(sample);
  for (const auto& [key, examined] : examined_) {
    Failures& found = aggregate.failures[key];
    found.examined += examined.cases;
    found.sample.add(examined.sample);
  }
}

}  // namespace qconform::campaign
