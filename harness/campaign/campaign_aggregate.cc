#include "harness/campaign/campaign_aggregate.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "harness/base/bytes.h"
#include "harness/engine/findings.h"

namespace qconform::campaign {
namespace {

using Hashed = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // hash, index

// Those with the smallest hashes.
void keep(Hashed& cases, std::size_t most, std::set<std::uint64_t>& kept) {
  std::sort(cases.begin(), cases.end());
  for (std::size_t i = 0; i < std::min(most, cases.size()); ++i) kept.insert(cases[i].second);
}

}  // namespace

std::vector<FailureKey> CaseRow::failures() const {
  std::vector<FailureKey> failures;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    const OfBackend& of = backends[i];
    if (is_failure(of.verdict)) failures.push_back({i, op_type, of.symptom, of.waiver});
  }
  return failures;
}

void CaseRows::note_first(const FailureKey& failure, std::uint64_t index) {
  const auto at = firsts_.try_emplace(failure, index).first;
  at->second = std::min(at->second, index);
}

std::uint64_t CaseRows::hash_of(std::uint64_t index) {
  Digest digest;
  digest.add(index);
  return digest.value();
}

std::size_t CaseRows::most_of(const FailureKey& failure) {
  const std::string& symptom = failure.symptom;
  const bool names_none = symptom == kUndetermined || symptom.starts_with(kUnexplained) ||
                          symptom == name_of(VerdictKind::wrong) || symptom == name_of(VerdictKind::bad_shape);
  return names_none ? kSampled : kFailing;
}

void CaseRows::add(std::map<std::uint64_t, CaseRow> rows) {
  for (const auto& [index, row] : rows) {
    const auto failures = row.failures();
    failing_ += failures.empty() ? 0 : 1;
    for (const FailureKey& failure : failures) note_first(failure, index);
  }
  rows_.merge(std::move(rows));
  bound();
}

void CaseRows::add(const CaseRows& other) {
  rows_.insert(other.rows_.begin(), other.rows_.end());
  for (const auto& [failure, index] : other.firsts_) note_first(failure, index);
  failing_ += other.failing_;
  bound();
}

void CaseRows::bound() {
  std::map<FailureKey, Hashed> failing;
  std::map<std::string, Hashed> passing;  // by operator
  for (const auto& [index, row] : rows_) {
    const auto failures = row.failures();
    for (const FailureKey& failure : failures) failing[failure].emplace_back(hash_of(index), index);
    if (failures.empty()) passing[row.op_type].emplace_back(hash_of(index), index);
  }
  std::set<std::uint64_t> kept;
  for (auto& [failure, cases] : failing) keep(cases, most_of(failure), kept);
  for (auto& [op_type, cases] : passing) keep(cases, kPassing, kept);
  std::erase_if(rows_, [&](const auto& entry) { return kept.count(entry.first) == 0; });
}

CaseRows CaseRows::of(std::map<std::uint64_t, CaseRow> rows, Firsts firsts, std::uint64_t failing) {
  CaseRows result;
  result.rows_ = std::move(rows);
  result.firsts_ = std::move(firsts);
  result.failing_ = failing;
  return result;
}

void Sample::add(std::uint64_t hash, const diagnose::CaseTraits& features) {
  const auto place = std::lower_bound(entries_.begin(), entries_.end(), hash,
                                      [](const Entry& entry, std::uint64_t value) { return entry.first < value; });
  if (place != entries_.end() && place->first == hash) return;
  if (entries_.size() == most_ && place == entries_.end()) return;
  entries_.insert(place, {hash, features});
  if (entries_.size() > most_) entries_.pop_back();
}

void Sample::add(const Sample& other) {
  for (const auto& [hash, features] : other.entries_) add(hash, features);
}

std::vector<diagnose::CaseTraits> Sample::features() const {
  std::vector<diagnose::CaseTraits> all;
  for (const auto& [hash, features] : entries_) all.push_back(features);
  return all;
}

namespace {

using TimelineGroup = CampaignTimeline::Group;
using Reached = CampaignTimeline::Reached;

// Adds up ascending groups that lie in one of that width.
std::vector<TimelineGroup> widened(const std::vector<TimelineGroup>& groups, std::uint64_t group_blocks) {
  std::vector<TimelineGroup> result;
  for (const TimelineGroup& group : groups) {
    const std::uint64_t first = group.first / group_blocks * group_blocks;
    if (result.empty() || result.back().first != first) result.emplace_back().first = first;
    result.back().cases += group.cases;
    result.back().failures += group.failures;
    result.back().seconds += group.seconds;
  }
  return result;
}

void merge_groups(const CampaignTimeline& from, CampaignTimeline& into) {
  into.group_blocks = std::max(from.group_blocks, into.group_blocks);
  std::vector<TimelineGroup> all;
  std::merge(into.groups.begin(), into.groups.end(), from.groups.begin(), from.groups.end(), std::back_inserter(all),
             [](const TimelineGroup& a, const TimelineGroup& b) { return a.first < b.first; });
  into.groups = widened(all, into.group_blocks);
  while (into.groups.size() > kMostGroups) {
    into.group_blocks *= 2;
    into.groups = widened(into.groups, into.group_blocks);
  }
}

// By first case, then in the order of their list.
void sort(std::vector<Reached>& corner_cases) {
  std::sort(corner_cases.begin(), corner_cases.end(), [](const Reached& a, const Reached& b) {
    if (a.first_case != b.first_case) return a.first_case < b.first_case;
    return corner_case_with_id(a.corner_case)->corner_case < corner_case_with_id(b.corner_case)->corner_case;
  });
}

}  // namespace

CampaignTimeline timeline_of_block(const TimelineGroup& found, const FirstCases& reached) {
  CampaignTimeline timeline;
  timeline.groups = {found};
  for (const CornerCaseInfo& info : qconform::corner_cases()) {
    const auto& first = reached[static_cast<std::size_t>(info.corner_case)];
    if (first) timeline.corner_cases.push_back({std::string(info.id), *first});
  }
  sort(timeline.corner_cases);
  return timeline;
}

void merge(const CampaignTimeline& from, CampaignTimeline& into) {
  merge_groups(from, into);
  for (const Reached& reached : from.corner_cases) {
    const auto known = std::find_if(into.corner_cases.begin(), into.corner_cases.end(),
                                    [&](const Reached& other) { return other.corner_case == reached.corner_case; });
    if (known == into.corner_cases.end()) {
      into.corner_cases.push_back(reached);
    } else {
      known->first_case = std::min(known->first_case, reached.first_case);
    }
  }
  sort(into.corner_cases);
}

namespace {

constexpr std::size_t kReasons = 64;
constexpr std::size_t kDisputed = 100;
constexpr const char* kOtherReasons = "other reasons";

std::uint64_t hash_of(const std::string& text) {
  Digest digest;
  digest.add(std::string_view(text));
  return digest.value();
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

bool Span::is_valid() const {
  if (!is_whole()) return blocks == 1 && cases > 0 && cases < kBlockCases;
  return std::has_single_bit(blocks) && first % blocks == 0 &&
         first <= std::numeric_limits<std::uint64_t>::max() / kBlockCases - blocks;
}

bool Span::holds(const Span& other) const {
  if (!is_whole()) return first == other.first && other.blocks == 1 && other.cases <= cases;
  return first <= other.first && other.first - first < blocks && other.blocks <= blocks;
}

// Joins the new span with its neighbour, that one with its own, and so on.
bool BlockAggregates::insert(const Span& span, CampaignAggregate aggregate) {
  if (!spans_.insert(span, std::move(aggregate))) return false;
  if (!span.is_whole()) return true;
  auto& whole = spans_.whole();
  for (auto at = whole.find(span.first);;) {
    Span joined = at->second.first;
    const std::uint64_t size = joined.blocks;
    const bool is_left = joined.first % (2 * size) == 0;
    const auto left = is_left ? at : whole.find(joined.first - size);
    const auto right = is_left ? whole.find(joined.first + size) : at;
    if (left == whole.end() || right == whole.end()) return true;
    if (left->second.first.blocks != size || right->second.first.blocks != size) return true;
    left->second.second.add(right->second.second);
    left->second.first.blocks = 2 * size;
    whole.erase(right);
    at = left;
  }
}

CampaignAggregate BlockAggregates::total() const {
  CampaignAggregate sum;
  for (const auto& [first, entry] : spans_.whole()) sum.add(entry.second);
  for (const auto& [block, entry] : spans_.parts()) sum.add(entry.second);
  return sum;
}

}  // namespace qconform::campaign
