// A suite whose cases are drawn one by one from a seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "harness/core/suite.h"

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

}  // namespace qconform
