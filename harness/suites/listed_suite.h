// A suite of given cases.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/suite.h"

namespace qconform::testing {

class ListedSuite final : public Suite {
 public:
  explicit ListedSuite(std::vector<Case> cases, std::string name = "listed")
      : cases_(std::move(cases)), name_(std::move(name)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (next_ == cases_.size()) return std::nullopt;
    return cases_[next_++];
  }

 private:
  std::vector<Case> cases_;
  std::string name_;
  std::size_t next_ = 0;
};

}  // namespace qconform::testing
