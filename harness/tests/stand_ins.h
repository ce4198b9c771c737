// Backends and suites that stand in for real ones in tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/suite.h"
#include "harness/engine/run_suites.h"
#include "harness/model/case_builder.h"
#include "harness/tests/convolution_builder.h"

namespace qconform::testing {

// A backend that has nothing: what was not run must never count as passed.

/// Refuses every case with the reason "nothing is implemented".
class RefusingBackend final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& /*test_case*/) override {
    return outcome::Unsupported{"nothing is implemented"};
  }

 private:
  BackendInfo info_{"refusing", "0", "test"};
};

// A prepared case whose output is known beforehand.

class PreparedOutput final : public PreparedCase {
 public:
  explicit PreparedOutput(Tensor output) : output_(std::move(output)) {}
  void run(OutputSink& sink) override {
    const std::span<std::byte> y = sink.allocate(output_.type, output_.shape);
    if (!y.empty()) std::memcpy(y.data(), output_.bytes.data(), y.size());
  }

 private:
  Tensor output_;
};

// Cases in a row, at one of which hostile backends go wrong.

/// ConvInteger on rows of 3 to 40 elements; hostile backends go wrong at the one of kHostile.
class Rows final : public Suite {
 public:
  explicit Rows(Case (*make_case)(std::int64_t columns) = row) : make_case_(make_case) {}

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
  /// Makes a case with three rows and channels in, and four channels out.
  [[nodiscard]] static Case image(std::int64_t columns) {
    std::vector<std::int64_t> x;
    std::vector<std::int64_t> w;
    for (std::int64_t i = 0; i < 9 * columns; ++i) x.push_back((11 + 37 * i) % 256);
    for (std::int64_t i = 0; i < 48; ++i) w.push_back((5 + 31 * i) % 256 - 128);
    return ConvIntegerBuilder()
        .id("row-" + std::to_string(columns))
        .x(make::uint8({1, 3, 3, columns}, x))
        .w(make::int8({4, 3, 2, 2}, w))
        .build();
  }
  [[nodiscard]] std::string name() const override { return "rows"; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (columns_ > kLast) return std::nullopt;
    return make_case_(columns_++);
  }

 private:
  Case (*make_case_)(std::int64_t columns);
  std::int64_t columns_ = kFirst;
};

/// How a hostile backend goes wrong, and what must be told of it.
struct Hostile {
  const char* name;
  VerdictKind kind;
  const char* detail;
  const char* log;
};

/// Ways to go wrong that libraries and programs share.
inline constexpr Hostile kExits{"exits", VerdictKind::exited, "status 3", ""};
inline constexpr Hostile kDevours{"devours", VerdictKind::out_of_memory, "more than 128 MiB", ""};

inline void PrintTo(const Hostile& hostile, std::ostream* out) {
  *out << hostile.name;
}

/// The case of kHostile is told as what it is; every other case counts as it does alone.
inline void expect_hostile_row(const Report& report, const Hostile& hostile) {
  ASSERT_EQ(report.backends.size(), 1U);
  const BackendResult& result = report.backends[0];
  EXPECT_EQ(result.cases(), static_cast<std::uint64_t>(Rows::kLast - Rows::kFirst + 1)) << "nothing is lost";
  EXPECT_EQ(result.count(hostile.kind), 1U);
  EXPECT_EQ(result.count(VerdictKind::pass) + result.count(VerdictKind::vacuous), result.cases() - 1)
      << "the other cases' results are what they are alone";
  ASSERT_EQ(report.findings.size(), 1U);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(name_of(finding.kind), name_of(hostile.kind)) << finding.verdict.detail;
  EXPECT_EQ(finding.example.id, "row-" + std::to_string(Rows::kHostile));
  EXPECT_THAT(finding.verdict.detail, ::testing::HasSubstr(hostile.detail));
  EXPECT_THAT(finding.verdict.log, ::testing::HasSubstr(hostile.log));
}

/// Runs one backend on one source and returns the report.
[[nodiscard]] inline Report report_of(std::unique_ptr<Suite> source, std::unique_ptr<Backend> backend) {
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::move(source));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::move(backend));
  Report report;
  if (!run_suites(suites, backends, {}, report)) report.backends.clear();
  return report;
}

// Sources whose cases are a function of seed and index.

/// Returns a number that stays the same as long as each of the first `count` cases does.
template <class CaseOf>
[[nodiscard]] std::uint64_t digest_of_cases(CaseOf case_of, std::uint64_t count) {
  std::uint64_t digest = 0;
  for (std::uint64_t index = 0; index < count; ++index) digest += digest_of(case_of(index));
  return digest;
}

/// Expects that the source gives `count` cases, those of the indices from 0 on, and ends.
template <class CaseOf>
void expect_cases_of(Suite& source, CaseOf case_of, std::uint64_t count) {
  for (std::uint64_t index = 0; index < count; ++index) {
    const auto next = source.next();
    ASSERT_TRUE(next.has_value() && next->has_value());
    EXPECT_EQ(**next, case_of(index));
  }
  EXPECT_FALSE(source.next()->has_value());
}

}  // namespace qconform::testing
