#include "harness/campaign/case_rows.h"

#include <algorithm>
#include <set>
#include <utility>

#include "harness/base/digest.h"

namespace qconform::campaign {
namespace {

std::uint64_t hash_of(std::uint64_t index) {
  Digest digest;
  digest.add(index);
  return digest.value();
}

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
  for (auto& [failure, cases] : failing) keep(cases, kFailing, kept);
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

void Sample::add(std::uint64_t hash, const diagnose::FeatureSet& features) {
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

std::vector<diagnose::FeatureSet> Sample::features() const {
  std::vector<diagnose::FeatureSet> all;
  for (const auto& [hash, features] : entries_) all.push_back(features);
  return all;
}

}  // namespace qconform::campaign
