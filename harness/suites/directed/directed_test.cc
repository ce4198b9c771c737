#include "harness/model/operator.h"
#include "harness/suites/drawn.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "harness/core/profile.h"
#include "harness/model/draws/draws.h"
#include "harness/model/judge/judge.h"
#include "harness/report/corner_case_coverage.h"
#include "harness/tests/stand_ins.h"
#include "harness/tests/test_scale.h"
#include "reference/numerics/floats.h"

namespace qconform {
namespace {

// Written down once, like that of the random suite: a change belongs into the change log.
constexpr std::uint64_t kDigestOfSeed1 = 17397308739233912339U;

TEST(DirectedSuite, HasTheSameCasesOnEveryMachineAndCompiler) {
  EXPECT_EQ(testing::digest_of_cases([](std::uint64_t index) { return directed_case(1, index); }, 600), kDigestOfSeed1);
}

TEST(DirectedSuite, CaseDependsOnSeedAndIndexAlone) {
  DirectedSuite source(5, 20);
  EXPECT_EQ(source.size(), 20U);
  testing::expect_cases_of(
      source, [](std::uint64_t index) { return directed_case(5, index); }, 20);
  EXPECT_NE(digest_of(directed_case(5, 0)), digest_of(directed_case(6, 0)));
}

// Counts what some thousands of cases reach, over any seed.
struct SuiteStatistics {
  CornerCaseCoverage coverage;
  std::uint64_t cases = 0;
  std::uint64_t with_exact_ties = 0;
  std::uint64_t vacuous = 0;
  std::set<std::string> missed;  ///< cases that do not reach what they aim for
};

void add(const Case& test_case, SuiteStatistics& statistics) {
  Expected expected = expect(test_case, {});
  ++statistics.cases;
  const auto* remark = expected.classification.deciding_remark();
  ASSERT_EQ(expected.classification.expectation(), Expectation::valid)
      << test_case.id << " " << test_case.node().op_type << ": " << (remark == nullptr ? "" : remark->text());
  ASSERT_TRUE(expected.output.has_value()) << test_case.id;
  assess(test_case, expected);
  statistics.coverage.add(test_case.subject(), "", expected.corner_cases);
  if (expected.corner_cases[CornerCase::tie_positive] + expected.corner_cases[CornerCase::tie_negative] > 0)
    ++statistics.with_exact_ties;
  if (!expected.vacuous_because.empty()) ++statistics.vacuous;
  const CornerCaseInfo* target = corner_case_with_id(test_case.tags.at(0));
  ASSERT_NE(target, nullptr);
  if (expected.corner_cases[target->corner_case] == 0)
    statistics.missed.insert(test_case.subject() + " " + std::string(target->id));
}

TEST(DirectedSuite, EveryCaseIsValidAndReachesItsCornerCase) {
  SuiteStatistics statistics;
  const std::uint64_t cases = directed_aims() * static_cast<std::uint64_t>(testing::scaled(10));
  for (std::uint64_t index = 0; index < cases; ++index) add(directed_case(3, index), statistics);
  EXPECT_TRUE(statistics.missed.empty()) << statistics.missed.size() << " targets missed, first "
                                         << *statistics.missed.begin();
  for (const CornerCaseInfo& info : corner_cases()) {
    for (const std::string_view op_type : operator_names()) {
      if (!concerns(info, op_type)) continue;
      const auto& totals = statistics.coverage.by_operator().at(std::string(op_type)).at("");
      EXPECT_GT(totals[static_cast<std::size_t>(info.corner_case)].cases, 0U) << info.id << " of " << op_type;
    }
  }
  const auto share = [&](std::uint64_t count) { return static_cast<double>(count) / static_cast<double>(cases); };
  EXPECT_GT(share(statistics.with_exact_ties), 0.15);
  EXPECT_LT(share(statistics.vacuous), 0.02);
}

}  // namespace
}  // namespace qconform
