#include "harness/engine/cold_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/engine/run_suites.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/stored_cases.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/stand_ins.h"

namespace qconform {
namespace {

using ::testing::HasSubstr;
using testing::ListedSuite;
using testing::report_of;
using testing::Rows;

std::unique_ptr<Backend> open_plugin(const std::string& name, std::int64_t memory = std::int64_t{128} << 20) {
  const SandboxLimits limits{.timeout = 10, .memory = memory, .guard = SandboxLimits::Guard::full};
  auto backend = backend::select("plugin:" QCONFORM_PLUGINS "/" + name + ".so", RoundingProfile::correctly_rounded,
                                 {.which = backend::SandboxPolicy::Which::all, .limits = limits});
  EXPECT_TRUE(backend) << backend.error().text();
  return backend ? std::move(*backend) : nullptr;
}

Case row_of(const std::string& id, std::vector<std::int64_t> w) {
  Case test_case = Rows::row(Rows::kHostile);
  test_case.id = id;
  test_case.inputs[1] = make::int8({1, 1, static_cast<std::int64_t>(w.size())}, w);
  return test_case;
}

// The rows before the one that fails, of which one is to blame.
std::vector<Case> rows_before(const Case& last) {
  std::vector<Case> cases;
  for (std::int64_t columns = 3; columns < 12; ++columns) cases.push_back(Rows::row(columns));
  cases.push_back(last);
  return cases;
}

VerdictKind kind_on(Backend& backend, const Case& test_case) {
  GuardedOutput output;
  return judge(expect(test_case, Policy{}), execute_for_judge(backend, test_case, output)).kind;
}

TEST(ColdReplay, TellsTheNodeThatDiffersInOneThing) {
  auto backend = open_plugin("shares_weights");
  const Report report = report_of(
      std::make_unique<ListedSuite>(std::vector{row_of("first", {-7, 101, 5}), row_of("second", {-7, 101, 9})}),
      std::move(backend));
  ASSERT_EQ(report.findings.size(), 1U);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(name_of(finding.kind), "depends-on-earlier-node");
  EXPECT_EQ(finding.signature, "depends-on-earlier-node:w");
  EXPECT_EQ(finding.example.id, "second");
  EXPECT_THAT(finding.verdict.detail,
              HasSubstr("right alone in a process, but after a node that differs in the last element of w alone"));
  ASSERT_EQ(finding.example.before.size(), 1U);
  EXPECT_EQ(name_of(kind_on(*open_plugin("shares_weights"), finding.example)), "depends-on-earlier-node");
  EXPECT_EQ(name_of(kind_on(*open_plugin("row"), finding.example)), "pass") << "a right backend passes the sequence";
  EXPECT_EQ(name_of(kind_on(*open_plugin("shares_weights"), computation_of(finding.example))), "pass");
}

TEST(ColdReplay, FindsTheOneNodeToBlameAmongMany) {
  const Report report =
      report_of(std::make_unique<ListedSuite>(rows_before(row_of("last", {-7, 101, 5}))), open_plugin("leaves_sums"));
  ASSERT_EQ(report.findings.size(), 1U);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(name_of(finding.kind), "depends-on-earlier-node");
  ASSERT_EQ(finding.example.before.size(), 1U);
  EXPECT_EQ(finding.example.before[0].input(0)->shape, (std::vector<std::int64_t>{1, 1, 5}));
}

// The node to blame has inputs that the one that fails lacks. They are no part of the reason.
TEST(ColdReplay, LeavesOutInputsThatTheFailingNodeLacks) {
  std::vector<Case> cases = rows_before(row_of("last", {-7, 101, 5}));
  for (std::size_t i = 0; i + 1 < cases.size(); ++i) {
    cases[i].inputs.resize(3);
    cases[i].inputs[2] = make::uint8({}, {7});
  }
  const Report report = report_of(std::make_unique<ListedSuite>(std::move(cases)), open_plugin("leaves_sums"));
  ASSERT_EQ(report.findings.size(), 1U);
  ASSERT_EQ(report.findings[0].example.before.size(), 1U);
  EXPECT_EQ(report.findings[0].example.before[0].inputs.size(), 2U);
}

TEST(ColdReplay, LeavesAFailureThatComesBackAlone) {
  const Case test_case = Rows::row(Rows::kHostile);
  auto wrong = open_plugin("constant_x");
  KnownSequences known;
  const outcome::Produced failed;
  const auto replay = replay_cold(*wrong->worker(), test_case, failed, Policy{}, known);
  ASSERT_TRUE(replay);
  EXPECT_TRUE(replay->fails_alone);
  EXPECT_TRUE(replay->test_case.before.empty());
}

// Another setting's answer makes a failure of a refusal. The refusal comes back in a new process, without that answer.
TEST(ColdReplay, LeavesARefusalOfWhatAnotherSettingComputes) {
  const Case test_case =
      QLinearConvBuilder().x(make::uint8({1, 1, 2, 2}, {1, 2, 3, 4})).w(make::int8({1, 1, 2, 2}, {5, 6, 7, 8})).build();
  auto declining = open_plugin("row");
  auto other = backend::select("scalar", RoundingProfile::correctly_rounded);
  ASSERT_TRUE(other);
  GuardedOutput output;
  Outcome refused = execute(*declining, test_case, output);
  Outcome computed = execute(**other, test_case, output);
  ASSERT_TRUE(is_refusal(refused));
  refused.elsewhere = {"scalar", std::get<outcome::Produced>(computed).outputs};
  const Expected expected = expect(test_case, Policy{});
  ASSERT_EQ(name_of(judge(expected, refused).kind), "refused-here");
  KnownSequences known;
  const auto replay = replay_cold(*declining->worker(), test_case, refused, Policy{}, known);
  ASSERT_TRUE(replay);
  EXPECT_TRUE(replay->fails_alone);
  EXPECT_EQ(name_of(judge(expected, replay->outcome).kind), "refused-here");
}

TEST(ColdReplay, TellsByHowManyBytesMemoryGrowsWithEachNode) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "this sanitizer replaces the heap that the measurement asks; the other presets run the test";
#endif
  constexpr std::int64_t kLimit = std::int64_t{96} << 20;
  std::vector<Case> rows;
  for (int i = 0; i < 60; ++i) rows.push_back(row_of("row " + std::to_string(i), {-7, 101, 5}));
  const Report report = report_of(std::make_unique<ListedSuite>(std::move(rows)), open_plugin("leaks", kLimit));
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(name_of(report.findings[0].kind), "grows-memory");
  EXPECT_THAT(report.findings[0].verdict.detail, HasSubstr("allocates and never gives back 105"));
  EXPECT_THAT(report.findings[0].verdict.detail, HasSubstr("bytes with each prepared node"));
}

TEST(ColdReplay, ShrinksTheNodeBeforeWithTheCase) {
  auto backend = open_plugin("shares_weights");
  Case failing = row_of("second", {-7, 101, 9});
  failing.before = {row_of("first", {-7, 101, 8})};
  const shrink::Result result = shrink::shrink(failing, shrink::in_process(*backend), Policy{});
  EXPECT_EQ(name_of(result.ending), "minimal");
  ASSERT_EQ(result.smallest.before.size(), 1U);
  EXPECT_EQ(result.smallest.before[0].input(1)->shape, result.smallest.input(1)->shape);
  EXPECT_LT(result.smallest.input(1)->elements(), 3);
}

}  // namespace
}  // namespace qconform
