#include "harness/campaign/sample.h"

#include <algorithm>

namespace qconform::campaign {

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
