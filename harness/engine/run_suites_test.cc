// The tester tested: planted defects must be caught, and told as what they are.
#include "harness/engine/run_suites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/backends/kinds.h"
#include "harness/model/case_builder.h"
#include "harness/suites/drawn.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/planted_kernels.h"
#include "harness/tests/stand_ins.h"

namespace qconform {
namespace {

using ::testing::HasSubstr;

Report run_random(const std::vector<std::string>& kernels, std::uint64_t cases) {
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<RandomSuite>(1, cases));
  std::vector<std::unique_ptr<Backend>> backends;
  for (const std::string& name : kernels) {
    backends.push_back(testing::planted_backend(name));
  }
  Report report;
  EXPECT_TRUE(run_suites(suites, backends, {}, report).has_value());
  return report;
}

// One case whose exact value lies above a tie by less than a float32 rounding: 2^24 + 1 as a sum is no
// float32, so ort-f32 sees the tie and goes to even.
class NearTieSuite final : public Suite {
 public:
  [[nodiscard]] std::string name() const override { return "near-tie"; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (std::exchange(done_, true)) return std::nullopt;
    return QLinearConvBuilder()
        .id("near-tie")
        .x(make::uint8({1, 1, 1}, {1}))
        .w(make::int8({1, 1, 1}, {1}))
        .bias({1 << 24})
        .y_scale(0x1p25F)
        .build();
  }

 private:
  bool done_ = false;
};

// Takes no case of one operator.
class RefusesOperator final : public Backend {
 public:
  RefusesOperator(std::string op_type, std::unique_ptr<Backend> rest)
      : op_type_(std::move(op_type)), rest_(std::move(rest)) {}
  [[nodiscard]] const BackendInfo& info() const override { return rest_->info(); }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (test_case.node().op_type == op_type_) return outcome::Unsupported{"no " + op_type_};
    return rest_->prepare(test_case);
  }

 private:
  std::string op_type_;
  std::unique_ptr<Backend> rest_;
};

Report run_without_conv_integer(const std::vector<std::string>& others) {
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<RandomSuite>(1, 200));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::make_unique<RefusesOperator>("ConvInteger", testing::planted_backend("scalar")));
  for (const std::string& name : others) {
    backends.push_back(testing::planted_backend(name));
  }
  Report report;
  EXPECT_TRUE(run_suites(suites, backends, {}, report).has_value());
  return report;
}

std::uint64_t failures(const BackendResult& result, VerdictKind kind) {
  return result.count(kind);
}

TEST(SuiteRunner, ReferenceConformsToItself) {
  const Report report = run_random({"scalar"}, 400);
  EXPECT_TRUE(report.conforms());
  EXPECT_TRUE(report.findings.empty());
  const BackendResult& scalar = report.backends[0];
  EXPECT_EQ(scalar.count(VerdictKind::pass) + scalar.count(VerdictKind::vacuous), 400U);
  EXPECT_GT(scalar.count(VerdictKind::pass), 320U);
  EXPECT_EQ(scalar.tiers().common.strictest(), reference::Tier::exact);
  EXPECT_EQ(report.suites[0].cases, 400U);
  EXPECT_GT(report.times.reference, 0);
}

TEST(SuiteRunner, CountsCornerCasesOfCasesThatABackendComputes) {
  const Report refused = run_without_conv_integer({});
  const Report computed = run_without_conv_integer({"scalar"});
  EXPECT_EQ(refused.suites[0].cases, computed.suites[0].cases);
  EXPECT_EQ(refused.suites[0].digest, computed.suites[0].digest);
  EXPECT_EQ(refused.suites[0].expectations, computed.suites[0].expectations);
  EXPECT_LT(refused.suites[0].elements, computed.suites[0].elements);
  EXPECT_EQ(refused.suites[0].exact_ties, computed.suites[0].exact_ties) << "ConvInteger has none";
  EXPECT_EQ(computed.corner_cases.by_operator().count("ConvInteger"), 1U);
  EXPECT_EQ(refused.corner_cases.by_operator().count("ConvInteger"), 0U);
  EXPECT_GT(refused.backends[0].count(VerdictKind::unsupported), 0U);
  EXPECT_EQ(refused.backends[0].count(VerdictKind::unsupported), computed.backends[0].count(VerdictKind::unsupported));
}

TEST(SuiteRunner, CatchesRawZeroPadding) {
  const Report report = run_random({"scalar", "pad-raw-zero"}, 400);
  EXPECT_FALSE(report.conforms());
  EXPECT_TRUE(report.backends[0].conforms()) << "the defect of one backend must not reach another";
  EXPECT_FALSE(report.backends[1].conforms());
  EXPECT_GT(failures(report.backends[1], VerdictKind::wrong), 20U);
  ASSERT_EQ(report.findings.size(), 2U) << "one for each convolution";
  EXPECT_EQ(report.findings[0].backend, "pad-raw-zero");
  EXPECT_TRUE(report.findings[0].verdict.worst.has_value());
}

TEST(SuiteRunner, CatchesInt16PairSaturation) {
  const Report report = run_random({"pair-sat-i16"}, 400);
  EXPECT_FALSE(report.conforms());
  EXPECT_GT(failures(report.backends[0], VerdictKind::wrong), 5U);
}

TEST(SuiteRunner, CatchesOneByteBehindTheOutput) {
  const Report report = run_random({"past-end"}, 50);
  EXPECT_FALSE(report.conforms());
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].kind, VerdictKind::out_of_bounds);
  EXPECT_EQ(report.findings[0].verdict.detail, "wrote 1 byte past the output");
}

TEST(SuiteRunner, CatchesOneByteBeforeTheOutput) {
  const Report report = run_random({"before-start"}, 50);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].verdict.detail, "wrote 1 byte before the output");
}

TEST(SuiteRunner, KeepsTheCaseWithTheClearestPattern) {
  const Report report = run_random({"pad-raw-zero"}, 400);
  for (const Finding& finding : report.findings) {
    ASSERT_TRUE(finding.representative.has_value());
    EXPECT_GT(finding.representative->right_elements, 4U);
    EXPECT_GT(finding.representative->wrong_elements, 4U);
    EXPECT_LE(finding.representative->right_elements + finding.representative->wrong_elements, 4096U);
  }
}

TEST(SuiteRunner, KeepsTheSmallestCaseOfAFinding) {
  const Report report = run_random({"past-end"}, 200);
  ASSERT_EQ(report.findings.size(), 1U);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.cases, report.backends[0].count(VerdictKind::out_of_bounds));
  std::size_t smallest = SIZE_MAX;
  const auto size_of = [](const Case& c) {
    std::size_t bytes = 0;
    for (const auto& input : c.inputs) bytes += input ? input->bytes.size() : 0;
    return bytes;
  };
  for (std::uint64_t index = 0; index < 200; ++index) {
    const Case c = random_case(1, index);
    if (c.node().op_type == "QLinearConv") smallest = std::min(smallest, size_of(c));
  }
  EXPECT_EQ(size_of(finding.example), smallest);
}

// ONNX Runtime's arithmetic is not correctly rounded, and right all the same.
TEST(SuiteRunner, TellsALegalFloatRoundingFromADefect) {
  const auto run = [](Profile profile) {
    std::vector<std::unique_ptr<Suite>> suites;
    suites.push_back(std::make_unique<NearTieSuite>());
    std::vector<std::unique_ptr<Backend>> backends;
    backends.push_back(
        backend::in_tree(testing::planted_kernel_set("scalar"), RoundingProfile::ort_f32, "scalar@ort-f32"));
    Report report;
    EXPECT_TRUE(run_suites(suites, backends, {.policy = {.profile = profile}, .progress = {}}, report).has_value());
    return report;
  };
  const Report admitted = run(Profile::conformance);
  EXPECT_TRUE(admitted.conforms());
  EXPECT_EQ(admitted.backends[0].tiers().common.strictest(), reference::Tier::float32);
  EXPECT_EQ(admitted.suites[0].near_ties, 1U);
  EXPECT_FALSE(run(Profile::correctly_rounded).conforms());
  EXPECT_TRUE(run(Profile::ort_f32).conforms());
}

TEST(SuiteRunner, UnsupportedCasesAreNotPasses) {
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<RandomSuite>(1, 20));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::make_unique<testing::RefusingBackend>());
  Report report;
  ASSERT_TRUE(run_suites(suites, backends, {}, report).has_value());
  EXPECT_EQ(report.backends[0].count(VerdictKind::unsupported), 20U);
  EXPECT_EQ(report.backends[0].count(VerdictKind::pass), 0U);
  EXPECT_FALSE(report.conforms());
}

// Notes when a run asks it, between what the run tells its caller.
class NotedDiagnosis final : public Diagnoser {
 public:
  explicit NotedDiagnosis(std::vector<std::string>& events) : events_(events) {}
  void passed(std::size_t /*backend*/, const Case& test_case, const Expected& /*expected*/) override {
    events_.push_back("passed " + test_case.id);
  }
  [[nodiscard]] std::string failed(std::size_t /*backend*/, const Case& test_case, const Expected& expected,
                                   const Outcome& outcome, const Verdict& verdict) override {
    EXPECT_EQ(judge(expected, outcome), verdict) << test_case.id << " comes with what was judged";
    events_.push_back("explained " + test_case.id);
    return "noted";
  }
  [[nodiscard]] std::optional<Diagnosis> diagnosis(std::size_t /*backend*/, const std::string& /*op_type*/,
                                                   const std::string& /*signature*/) const override {
    return std::nullopt;
  }

 private:
  std::vector<std::string>& events_;
};

// The events of a run of the planted kernel `pad-raw-zero` that explains at its end, which `stop` may end earlier.
std::vector<std::string> events_of_run(Report& report, std::function<bool()> stop = {}) {
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<RandomSuite>(1, 300));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(testing::planted_backend("pad-raw-zero"));
  std::vector<std::string> events;
  NotedDiagnosis diagnosis(events);
  SuiteRunOptions options{.policy = {}, .stop = std::move(stop), .diagnoser = &diagnosis, .explains_last = true};
  options.results = RowsKept::all;
  options.news = [&](std::size_t, const Case& test_case, const Verdict&) { events.push_back("news " + test_case.id); };
  options.judged = [&](const Case& test_case, const auto&, const auto&) { events.push_back("judged " + test_case.id); };
  EXPECT_TRUE(run_suites(suites, backends, options, report));
  return events;
}

bool is_event(const std::string& event, std::string_view kind) {
  return event.starts_with(kind);
}

TEST(SuiteRunner, TellsFailuresAtOnceAndExplainsThemWhenAllIsJudged) {
  Report report;
  const std::vector<std::string> events = events_of_run(report);
  std::size_t last_judged = 0;
  std::size_t first_explained = events.size();
  std::size_t news = 0;
  std::size_t explained = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (is_event(events[i], "judged ")) last_judged = i;
    if (is_event(events[i], "explained ")) {
      first_explained = std::min(first_explained, i);
      ++explained;
    }
    if (!is_event(events[i], "news ")) continue;
    ++news;
    ASSERT_LT(i + 1, events.size());
    EXPECT_EQ(events[i + 1], "judged " + events[i].substr(5)) << "nothing comes between";
  }
  EXPECT_GT(news, 1U);
  EXPECT_EQ(news, explained);
  EXPECT_LT(last_judged, first_explained);
  std::map<std::string, std::uint64_t> cases;
  for (const Finding& finding : report.findings) cases[finding.id] = finding.cases;
  EXPECT_THAT(cases, ::testing::ElementsAre(::testing::Key("F1"), ::testing::Key("F2"))) << "one for each operator";
  ASSERT_TRUE(report.results);
  for (const CaseResult& row : report.results->rows) {
    const CaseResult::OfBackend& result = row.backends[0];
    EXPECT_EQ(cases.contains(result.finding), is_failure(result.verdict)) << row.id;
    if (is_failure(result.verdict)) --cases[result.finding];
  }
  EXPECT_THAT(cases, ::testing::Each(::testing::Pair(::testing::_, 0U))) << "each row names its finding";
}

TEST(SuiteRunner, ExplainsASuiteThatWasJudgedEarlyInALaterTurn) {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(testing::planted_backend("pad-raw-zero"));
  std::vector<std::string> events;
  NotedDiagnosis diagnosis(events);
  const SuiteRunOptions options{.policy = {}, .diagnoser = &diagnosis, .explains_last = true};
  Report report;
  SuiteRun run(backends, options, report);
  RandomSuite early(1, 100);
  RandomSuite late(2, 100);
  ASSERT_TRUE(run.run(early, 1) && run.run(late));
  run.finish();
  std::erase_if(events, [](const std::string& event) { return !event.starts_with("explained "); });
  const auto is_late = [](const std::string& event) { return event.starts_with("explained random-2-"); };
  EXPECT_TRUE(std::is_partitioned(events.begin(), events.end(), is_late));
  EXPECT_TRUE(is_late(events.front()));
  EXPECT_FALSE(is_late(events.back()));
}

TEST(SuiteRunner, ExplainsNothingWhenItIsToldToStop) {
  Report report;
  std::uint64_t asked = 0;
  const std::vector<std::string> events = events_of_run(report, [&] { return ++asked > 100; });
  const auto count = [&](std::string_view kind) {
    return std::count_if(events.begin(), events.end(), [&](const std::string& event) { return is_event(event, kind); });
  };
  EXPECT_EQ(count("explained "), 0);
  EXPECT_GT(count("news "), 0);
  EXPECT_EQ(report.stopped, kInterrupted);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].signature, "wrong") << "by its verdict alone";
  EXPECT_EQ(report.findings[0].cases, static_cast<std::uint64_t>(count("news ")));
}

}  // namespace
}  // namespace qconform
