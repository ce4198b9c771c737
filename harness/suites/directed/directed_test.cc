#include "harness/suites/directed/directed.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "harness/core/profile.h"
#include "harness/hazards/coverage.h"
#include "harness/judge/judge.h"
#include "harness/suites/random_values.h"
#include "harness/tests/source_cases.h"
#include "harness/tests/test_scale.h"
#include "reference/numerics/tie.h"

namespace qconform {
namespace {

// Written down once, like that of the random suite: a change belongs into the change log.
constexpr std::uint64_t kDigestOfSeed1 = 8711987415221063467U;

TEST(DirectedSuite, HasTheSameCasesOnEveryMachineAndCompiler) {
  EXPECT_EQ(testing::digest_of_cases([](std::uint64_t index) { return directed_case(1, index); }, 600), kDigestOfSeed1);
}

TEST(DirectedSuite, CaseDependsOnSeedAndIndexAlone) {
  DirectedSource source(5, 20);
  EXPECT_EQ(source.size(), 20U);
  testing::expect_cases_of(
      source, [](std::uint64_t index) { return directed_case(5, index); }, 20);
  EXPECT_NE(digest_of(directed_case(5, 0)), digest_of(directed_case(6, 0)));
}

// What a run of some thousands of cases reaches, over any seed.
struct SuiteSurvey {
  HazardCoverage coverage;
  std::uint64_t cases = 0;
  std::uint64_t with_exact_ties = 0;
  std::uint64_t mistrusted = 0;
  std::set<std::string> missed;  ///< cases that do not reach what they aim for
};

void add(const Case& test_case, SuiteSurvey& survey) {
  Expected expected = expect(test_case, {});
  ++survey.cases;
  const auto* remark = expected.classification.deciding_remark();
  ASSERT_EQ(expected.classification.expectation(), Expectation::valid)
      << test_case.id << " " << test_case.op_type << ": " << (remark == nullptr ? "" : remark->text());
  ASSERT_TRUE(expected.output.has_value()) << test_case.id;
  assess(test_case, expected);
  survey.coverage.add(test_case.op_type, "", expected.hazards);
  if (expected.hazards[Hazard::tie_positive] + expected.hazards[Hazard::tie_negative] > 0) ++survey.with_exact_ties;
  if (!expected.doubt.empty()) ++survey.mistrusted;
  const HazardInfo* aim = hazard_with_id(test_case.tags.at(0));
  ASSERT_NE(aim, nullptr);
  if (expected.hazards[aim->hazard] == 0) survey.missed.insert(test_case.op_type + " " + std::string(aim->id));
}

TEST(DirectedSuite, EveryCaseIsValidAndReachesItsHazard) {
  SuiteSurvey survey;
  const std::uint64_t cases = directed_aims() * static_cast<std::uint64_t>(testing::scaled(10));
  for (std::uint64_t index = 0; index < cases; ++index) add(directed_case(3, index), survey);
  EXPECT_TRUE(survey.missed.empty()) << survey.missed.size() << " aims missed, first " << *survey.missed.begin();
  for (const HazardInfo& info : hazards()) {
    for (const std::string_view op_type : operator_names()) {
      if (!info.concerns(op_type)) continue;
      const auto& tallies = survey.coverage.by_operator().at(std::string(op_type)).at("");
      EXPECT_GT(tallies[static_cast<std::size_t>(info.hazard)].cases, 0U) << info.id << " of " << op_type;
    }
  }
  const auto share = [&](std::uint64_t count) { return static_cast<double>(count) / static_cast<double>(cases); };
  EXPECT_GT(share(survey.with_exact_ties), 0.15);
  EXPECT_LT(share(survey.mistrusted), 0.02);
}

}  // namespace
}  // namespace qconform
