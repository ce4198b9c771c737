// A sample of cases by their features: the same whatever order they came in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "harness/diagnose/explain/case_features.h"

namespace qconform::campaign {

/// The cases with the smallest hashes of those added, which makes joining two samples associative,
/// commutative and idempotent, where a hash stands for one case.
class Sample {
 public:
  using Entry = std::pair<std::uint64_t, diagnose::FeatureSet>;

  explicit Sample(std::size_t most) : most_(most) {}

  void add(std::uint64_t hash, const diagnose::FeatureSet& features);
  void add(const Sample& other);

  /// By hash, without duplicates; at most as many as the sample keeps.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<diagnose::FeatureSet> features() const;

 private:
  std::size_t most_;
  std::vector<Entry> entries_;
};

}  // namespace qconform::campaign
