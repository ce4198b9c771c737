// Random valid cases of every operator: shapes, pads, groups, zero points, per-channel scales.
#pragma once

#include <cstdint>

#include "harness/core/case_source.h"
#include "harness/source/rng.h"

namespace qconform {

/// Case `index` of `seed`: depends on nothing else, and is the same on every machine and compiler.
[[nodiscard]] Case random_case(std::uint64_t seed, std::uint64_t index);

/// The first `count` cases of a seed.
class RandomSource final : public CaseSource {
 public:
  static constexpr std::uint64_t kDefaultCases = 10000;

  RandomSource(std::uint64_t seed, std::uint64_t count) : seed_(seed), count_(count) {}
  [[nodiscard]] std::string name() const override { return "random"; }
  [[nodiscard]] Result<std::optional<Case>> next() override;
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return count_; }

 private:
  std::uint64_t seed_;
  std::uint64_t count_;
  std::uint64_t index_ = 0;
};

}  // namespace qconform
