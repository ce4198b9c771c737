// What `qconform fuzz` draws: blocks of random cases, each with its own mix of features, and between
// them blocks of directed ones.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/core/case_source.h"

namespace qconform {

/// Case `index` of `seed`: depends on nothing else, and is the same on every machine and compiler.
[[nodiscard]] Case fuzz_case(std::uint64_t seed, std::uint64_t index);

/// The first `count` cases of a seed; without a count there is no end.
class FuzzSource final : public CaseSource {
 public:
  FuzzSource(std::uint64_t seed, std::optional<std::uint64_t> count) : seed_(seed), count_(count) {}
  [[nodiscard]] std::string name() const override { return "fuzz"; }
  [[nodiscard]] Result<std::optional<Case>> next() override;
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return count_; }

 private:
  std::uint64_t seed_;
  std::optional<std::uint64_t> count_;
  std::uint64_t index_ = 0;
};

}  // namespace qconform
