#include "harness/campaign/campaign_aggregate.h"

#include <algorithm>
#include <tuple>

#include "harness/base/digest.h"

namespace qconform::campaign {
namespace {

constexpr std::size_t kReasons = 64;
constexpr std::size_t kDisputed = 100;
constexpr const char* kOtherReasons = "other reasons";

std::uint64_t hash_of(const std::string& text) {
  Digest digest;
  digest.add(std::string_view(text));
  return digest.value();
}

void add_counts(const Counts& from, Counts& to) {
  for (const auto& [name, count] : from) to[name] += count;
}

// Reasons with numbers in them can be many. Those with the smallest hashes keep their counts, which are exact:
// what is among the smallest of all is among the smallest of any part.
void bound(Counts& reasons) {
  while (reasons.size() > kReasons + (reasons.count(kOtherReasons) > 0 ? 1 : 0)) {
    auto last = reasons.end();
    for (auto at = reasons.begin(); at != reasons.end(); ++at) {
      if (at->first == kOtherReasons) continue;
      if (last == reasons.end() || hash_of(at->first) > hash_of(last->first)) last = at;
    }
    const std::uint64_t count = last->second;
    reasons.erase(last);
    reasons[kOtherReasons] += count;
  }
}

// Ids of a campaign's cases end in their index: the shorter is the earlier.
bool is_earlier(const std::string& a, const std::string& b) {
  return std::tuple(a.size(), std::string_view(a)) < std::tuple(b.size(), std::string_view(b));
}

// The first texts of all are among the first of any part.
void add_first(const std::vector<std::string>& from, std::vector<std::string>& to, std::size_t most) {
  to.insert(to.end(), from.begin(), from.end());
  std::sort(to.begin(), to.end(), is_earlier);
  if (to.size() > most) to.resize(most);
}

void add_suite(const SuiteResult& from, SuiteResult& to) {
  to.cases += from.cases;
  to.digest += from.digest;
  add_counts(from.expectations, to.expectations);
  add_counts(from.skipped, to.skipped);
  to.elements += from.elements;
  to.exact_ties += from.exact_ties;
  to.near_ties += from.near_ties;
  add_first(from.disputed, to.disputed, kDisputed);
}

void add_operator(const OperatorResult& from, OperatorResult& to) {
  for (std::size_t i = 0; i < to.verdicts.size(); ++i) {
    to.verdicts[i] += from.verdicts[i];
    to.waived[i] += from.waived[i];
  }
  to.elements += from.elements;
  to.wrong_elements += from.wrong_elements;
  to.tiers.add(from.tiers);
  add_counts(from.pinned_by, to.pinned_by);
  to.errors.add(from.errors);
  add_counts(from.unsupported_reasons, to.unsupported_reasons);
  add_counts(from.vacuous_reasons, to.vacuous_reasons);
  add_counts(from.not_judged_reasons, to.not_judged_reasons);
  add_counts(from.corner_cases, to.corner_cases);
  to.undetermined += from.undetermined;
  to.exact_ties += from.exact_ties;
  to.near_ties += from.near_ties;
  bound(to.unsupported_reasons);
  bound(to.vacuous_reasons);
  bound(to.not_judged_reasons);
}

void add_worst(const std::vector<WorstElement>& from, std::vector<WorstElement>& to) {
  to.insert(to.end(), from.begin(), from.end());
  std::sort(to.begin(), to.end(), [](const WorstElement& a, const WorstElement& b) {
    if (a.element.distance != b.element.distance) return a.element.distance > b.element.distance;
    return is_earlier(a.case_id, b.case_id);
  });
  if (to.size() > BackendResult::kWorstElements) to.resize(BackendResult::kWorstElements);
}

// Adds up, for each model of one backend's contracts, how often cases contradicted the contract.
void add_contracts(const std::vector<BackendContract>& from, std::vector<BackendContract>& to) {
  if (to.empty()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i].declined_inside += from[i].declined_inside;
    to[i].taken_outside += from[i].taken_outside;
    const bool is_first = to[i].contradiction.empty() || is_earlier(from[i].contradiction, to[i].contradiction);
    if (!from[i].contradiction.empty() && is_first) to[i].contradiction = from[i].contradiction;
  }
}

void add_backend(const BackendResult& from, BackendResult& to) {
  to.seconds += from.seconds;
  for (const auto& [op_type, result] : from.operators) add_operator(result, to.operators[op_type]);
  add_counts(from.lost, to.lost);
  bound(to.lost);
  add_first(from.lost_cases, to.lost_cases, BackendResult::kLostListed);
  add_worst(from.worst, to.worst);
  add_contracts(from.contracts, to.contracts);
}

void add_times(const StageTimes& from, StageTimes& to) {
  to.generate += from.generate;
  to.reference += from.reference;
  to.statistics += from.statistics;
  to.backend += from.backend;
  to.judge += from.judge;
  to.diagnose += from.diagnose;
  to.total += from.total;
}

}  // namespace

void Failures::add(const Failures& other) {
  if (cases == 0 || other.smallest.is_smaller_than(smallest)) smallest = other.smallest;
  cases += other.cases;
  sample.add(other.sample);
}

void CampaignAggregate::add(const CampaignAggregate& other) {
  add_suite(other.suite, suite);
  corner_cases.add(other.corner_cases);
  if (backends.empty()) backends.resize(other.backends.size());
  for (std::size_t i = 0; i < other.backends.size(); ++i) add_backend(other.backends[i], backends[i]);
  for (const auto& [key, found] : other.failures) failures[key].add(found);
  for (const auto& [key, sample] : other.passing) passing.try_emplace(key, kSampled).first->second.add(sample);
  merge(other.timeline, timeline);
  rows.add(other.rows);
  add_times(other.times, times);
}

std::uint64_t CampaignAggregate::unwaived() const {
  std::uint64_t sum = 0;
  for (const BackendResult& backend : backends) {
    for (const auto& [op_type, result] : backend.operators) sum += result.failing() - result.waived_failing();
  }
  return sum;
}

}  // namespace qconform::campaign
