// A short suite in which one case can be told from the others by the size of x.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/case_builder.h"
#include "harness/core/case_source.h"
#include "harness/run/campaign.h"

namespace qconform::testing {

/// ConvInteger on rows of 3 to 40 elements; hostile backends go wrong at the one of kHostile.
class Rows final : public CaseSource {
 public:
  static constexpr std::int64_t kFirst = 3;
  static constexpr std::int64_t kHostile = 13;
  static constexpr std::int64_t kLast = 40;

  [[nodiscard]] static Case row(std::int64_t columns) {
    std::vector<std::int64_t> x;
    for (std::int64_t i = 0; i < columns; ++i) x.push_back((11 + 37 * i) % 256);
    return ConvIntegerBuilder()
        .id("row-" + std::to_string(columns))
        .x(make::uint8({1, 1, columns}, x))
        .w(make::int8({1, 1, 3}, {-7, 101, 5}))
        .build();
  }
  [[nodiscard]] std::string name() const override { return "rows"; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (columns_ > kLast) return std::nullopt;
    return row(columns_++);
  }

 private:
  std::int64_t columns_ = kFirst;
};

/// What becomes of one backend on one source.
[[nodiscard]] inline Report report_of(std::unique_ptr<CaseSource> source, std::unique_ptr<Backend> backend) {
  std::vector<std::unique_ptr<CaseSource>> suites;
  suites.push_back(std::move(source));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::move(backend));
  Report report;
  if (!run_campaign(suites, backends, {}, report)) report.backends.clear();
  return report;
}

}  // namespace qconform::testing
