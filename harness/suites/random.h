// Suites whose cases are drawn one by one from a seed: `random`, and what `qconform fuzz` draws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "harness/core/suite.h"
#include "harness/model/draws/rng.h"

namespace qconform {

/// The first `count` cases of a seed; without a count there is no end.
class DrawnSuite : public Suite {
 public:
  /// Case `index` of `seed`: depends on nothing else.
  using Draw = Case (*)(std::uint64_t seed, std::uint64_t index);

  DrawnSuite(std::string name, Draw draw, std::uint64_t seed, std::optional<std::uint64_t> count)
      : name_(std::move(name)), draw_(draw), seed_(seed), count_(count) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (index_ == count_) return std::nullopt;
    return draw_(seed_, index_++);
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return count_; }

 private:
  std::string name_;
  Draw draw_;
  std::uint64_t seed_;
  std::optional<std::uint64_t> count_;
  std::uint64_t index_ = 0;
};

/// Case `index` of `seed`: depends on nothing else, and is the same on every machine and compiler.
[[nodiscard]] Case random_case(std::uint64_t seed, std::uint64_t index);

/// The cases of a seed.
class RandomSuite final : public DrawnSuite {
 public:
  static constexpr std::uint64_t kDefaultCases = 10000;

  RandomSuite(std::uint64_t seed, std::uint64_t count) : DrawnSuite("random", random_case, seed, count) {}
};

/// Case `index` of `seed`: depends on nothing else, and is the same on every machine and compiler.
/// Blocks of random cases, each with its own mix of features, and between them blocks of directed ones.
[[nodiscard]] Case fuzz_case(std::uint64_t seed, std::uint64_t index);

/// The cases of a seed; without a count there is no end.
class FuzzSuite final : public DrawnSuite {
 public:
  FuzzSuite(std::uint64_t seed, std::optional<std::uint64_t> count) : DrawnSuite("fuzz", fuzz_case, seed, count) {}
};

}  // namespace qconform
