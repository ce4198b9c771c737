#include "harness/campaign/block_diagnosis.h"

#include <algorithm>

#include "harness/base/digest.h"
#include "harness/diagnose/explain/candidates.h"
#include "harness/diagnose/explain/pattern.h"

namespace qconform::campaign {
namespace {

constexpr const char* kNoDefect = "unexplained:";

}  // namespace
std::uint64_t hash_of(const Case& test_case) {
  Digest digest;
  digest.add(test_case.provenance.seed);
  digest.add(test_case.provenance.index);
  return digest.value();
}

std::string symptom_of(const diagnose::Observation& observation) {
  const Operator& op = observation.modelled().op();
  const diagnose::CandidateTest test(op, observation.expected().policy);
  const diagnose::Observation* const alone[] = {&observation};
  std::string named;
  std::size_t count = 0;
  for (const diagnose::Defect* defect : diagnose::defects_in(op.name)) {
    diagnose::DefectSet single{{defect}};
    if (!test.fits(single, alone)) continue;
    named += (named.empty() ? "" : "|") + std::string(defect->id);
    if (++count == kMostNamed) break;
  }
  return named.empty() ? kNoDefect + std::string(diagnose::pattern_of(alone).id) : named;
}

std::vector<std::string> defects_named_by(const std::string& symptom) {
  std::vector<std::string> names;
  if (symptom.starts_with(kNoDefect)) return names;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = symptom.find('|', begin);
    names.push_back(symptom.substr(begin, end - begin));
  }
  return names;
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
  if (number >= first && number % kExaminedAfterwards != 0) return kUndetermined;
  std::string symptom = symptom_of(*observation);
  examined_.try_emplace({backend, test_case.subject(), symptom, ""}, Failures::kSampled)
      .first->second.add(hash_of(test_case), diagnose::features_of(test_case, expected));
  return symptom;
}

void BlockDiagnosis::add_to(CampaignAggregate& aggregate) const {
  for (const auto& [key, sample] : passing_)
    aggregate.passing.try_emplace(key, CampaignAggregate::kSampled).first->second.add(sample);
  for (const auto& [key, sample] : examined_) aggregate.failures[key].sample.add(sample);
}

}  // namespace qconform::campaign
