// Results of single cases are kept up to a bound; an element map shows what the judge says, wherever it is cut.

#include "harness/engine/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/suites/drawn.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/planted_kernels.h"

namespace qconform {
namespace {

using ::testing::ElementsAre;

Case some_case(const std::string& id) {
  return QLinearConvBuilder().id(id).x(make::uint8({1, 1, 1}, {1})).w(make::int8({1, 1, 1}, {1})).build();
}

void add(CaseTable& table, const std::string& id, VerdictKind verdict) {
  table.add("suite", some_case(id), {{.verdict = verdict, .tier = {}, .wrong_elements = 0, .finding = ""}});
}

std::vector<std::string> ids(const CaseResults& results) {
  std::vector<std::string> list;
  for (const CaseResult& row : results.rows) list.push_back(row.id);
  return list;
}

TEST(CaseTable, KeepsEverythingInOrderBelowTheBound) {
  CaseTable table(RowsKept::all, 3);
  add(table, "a", VerdictKind::pass);
  add(table, "b", VerdictKind::wrong);
  add(table, "c", VerdictKind::unsupported);
  const CaseResults results = table.take();
  EXPECT_THAT(ids(results), ElementsAre("a", "b", "c"));
  EXPECT_EQ(results.cases, 3U);
  EXPECT_EQ(results.failing, 1U);
  EXPECT_EQ(results.rows[1].summary, "x [1,1,1] * w [1,1,1]");
}

TEST(CaseTable, DropsThePassingCasesFirst) {
  CaseTable table(RowsKept::all, 3);
  for (const char* id : {"a", "b", "c", "d"}) add(table, id, VerdictKind::pass);
  add(table, "e", VerdictKind::crashed);
  add(table, "f", VerdictKind::wrong);
  const CaseResults results = table.take();
  EXPECT_THAT(ids(results), ElementsAre("a", "e", "f"));
  EXPECT_EQ(results.cases, 6U);
  EXPECT_EQ(results.failing, 2U);
}

TEST(CaseTable, EveryReasonHasACase) {
  CaseTable table(RowsKept::all, 20);
  const auto decline = [&](const std::string& id, const std::string& reason) {
    table.add("suite", some_case(id),
              {{.verdict = VerdictKind::unsupported, .tier = {}, .wrong_elements = 0, .reason = reason}});
  };
  for (int i = 0; i < 30; ++i) decline("2-D", "only 2-D");
  decline("grouped", "no groups");
  const CaseResults results = table.take();
  ASSERT_EQ(results.rows.size(), 20U);
  EXPECT_EQ(results.rows.back().id, "grouped");
  EXPECT_EQ(results.rows.back().backends[0].reason, "no groups");
}

TEST(CaseTable, FindingsMayGetOtherIds) {
  CaseTable table(RowsKept::all, 3);
  table.add("suite", some_case("a"),
            {{.verdict = VerdictKind::wrong, .tier = {}, .wrong_elements = 1, .finding = "F2"}});
  add(table, "b", VerdictKind::pass);
  table.rename_findings({{"F1", "F1"}, {"F2", "F1"}});
  const CaseResults results = table.take();
  EXPECT_EQ(results.rows[0].backends[0].finding, "F1");
  EXPECT_EQ(results.rows[1].backends[0].finding, "");
}

TEST(CaseTable, NeverHoldsMoreThanTheBound) {
  CaseTable table(RowsKept::all, 2);
  for (const char* id : {"a", "b", "c"}) add(table, id, VerdictKind::wrong);
  add(table, "d", VerdictKind::pass);
  const CaseResults results = table.take();
  EXPECT_THAT(ids(results), ElementsAre("a", "b"));
  EXPECT_EQ(results.cases, 4U);
  EXPECT_EQ(results.failing, 3U);
}

TEST(CaseTable, CountsPassingCasesThatItDrops) {
  CaseTable table(RowsKept::failing, 8);
  add(table, "a", VerdictKind::pass);
  add(table, "b", VerdictKind::wrong);
  const CaseResults results = table.take();
  EXPECT_THAT(ids(results), ElementsAre("b"));
  EXPECT_EQ(results.cases, 2U);
  EXPECT_EQ(ids(table.take()).size(), 0U) << "it begins again";
}

// A 1x3 filter of ones over [1, 2, 3, 4] + 10 with zero point 10 and a pad of 1 on the left: the planted
// kernel takes the padded tap for 0 and not for the zero point.
Case padded_case() {
  return QLinearConvBuilder()
      .id("padded")
      .x(make::uint8({1, 1, 1, 4}, {11, 12, 13, 14}))
      .x_zero_point(10)
      .w(make::int8({1, 1, 1, 3}, {1, 1, 1}))
      .pads({0, 1, 0, 0})
      .build();
}

TEST(ElementMap, ShowsElementsAndTheirInputs) {
  const auto backend = testing::planted_backend("pad-raw-zero");
  const auto map = element_map_of(padded_case(), *backend, {});
  ASSERT_TRUE(map.has_value());
  EXPECT_THAT(map->got.extent, ElementsAre(1, 1, 1, 3));
  EXPECT_THAT(map->expected, ElementsAre("3", "6", "9"));
  EXPECT_THAT(map->got.values, ElementsAre("0", "6", "9")) << "1 + 2 - 10, saturated";
  EXPECT_THAT(map->exact, ElementsAre("3", "6", "9"));
  EXPECT_THAT(map->admissible, ElementsAre("{3}", "{6}", "{9}"));
  EXPECT_THAT(map->wrong, ElementsAre(true, false, false));
  EXPECT_THAT(map->worst, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(map->wrong_elements, 1U);
  ASSERT_TRUE(map->geometry.has_value());
  EXPECT_EQ(map->geometry->axes[1].pad_begin, 1);
  ASSERT_FALSE(map->inputs.empty());
  EXPECT_EQ(map->inputs[0].name, "x");
  EXPECT_THAT(map->inputs[0].values, ElementsAre("11", "12", "13", "14"));
}

TEST(ElementMap, RightOutputsHaveNone) {
  EXPECT_FALSE(element_map_of(padded_case(), *testing::planted_backend("scalar"), {}).has_value());
}

TEST(ElementMap, IsCutToItsLimitsAroundTheWorstElement) {
  const auto backend = testing::planted_backend("pad-raw-zero");
  const ElementMapLimits limits{.output = 6, .input = 12};
  int maps = 0;
  for (std::uint64_t index = 0; index < 150; ++index) {
    const Case test_case = random_case(5, index);
    const auto map = element_map_of(test_case, *backend, {}, limits);
    if (!map) continue;
    ++maps;
    EXPECT_LE(map->got.values.size(), 6U);
    for (const TensorBox& input : map->inputs) {
      EXPECT_LE(input.values.size(), 12U);
      EXPECT_EQ(static_cast<std::int64_t>(input.values.size()), elements_of(input.extent));
    }
    const auto indices = indices_in(map->got.shape, {map->got.begin, map->got.extent});
    const auto worst = indices_in(map->got.shape, {map->worst, std::vector<std::int64_t>(map->worst.size(), 1)});
    const auto place = std::find(indices.begin(), indices.end(), worst[0]);
    ASSERT_NE(place, indices.end());
    EXPECT_TRUE(map->wrong[static_cast<std::size_t>(place - indices.begin())]);
  }
  EXPECT_GT(maps, 10);
}

RC_GTEST_PROP(ElementMapBoxes, HoldTheCenterAndNoMoreThanTheyMay, ()) {
  const auto shape = *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange<std::size_t>(1, 5),
                                                                    rc::gen::inRange<std::int64_t>(1, 40));
  std::vector<std::int64_t> center;
  for (const std::int64_t size : shape) center.push_back(*rc::gen::inRange<std::int64_t>(0, size));
  const auto most = *rc::gen::inRange<std::int64_t>(1, 3000);
  const Box box = box_around(shape, center, most);
  RC_ASSERT(box.elements() <= most);
  RC_ASSERT(box.elements() >= std::min<std::int64_t>(most / 4 + 1, shape.back()) || box.elements() * 4 >= most);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    RC_ASSERT(box.begin[d] >= 0 && box.begin[d] + box.extent[d] <= shape[d]);
    RC_ASSERT(box.begin[d] <= center[d] && center[d] < box.begin[d] + box.extent[d]);
  }
  const std::vector<std::int64_t> indices = indices_in(shape, box);
  RC_ASSERT(static_cast<std::int64_t>(indices.size()) == box.elements());
  RC_ASSERT(std::is_sorted(indices.begin(), indices.end()));
}

TEST(ElementMapBoxes, KeepAllOfWhatFits) {
  const Box box = box_around({2, 3, 5, 7}, {1, 2, 4, 6}, 210);
  EXPECT_THAT(box.begin, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(box.extent, ElementsAre(2, 3, 5, 7));
}

Finding crash_in(const std::string& place, const std::string& log, std::int64_t columns) {
  Finding finding;
  finding.backend = "mine";
  finding.op_type = "QLinearConv";
  finding.example = QLinearConvBuilder()
                        .id(place)
                        .x(make::filled(ElementType::uint8, {1, 1, columns}, 1))
                        .w(make::int8({1, 1, 1}, {1}))
                        .build();
  Outcome outcome = outcome::Crashed{6, "signal 6: Aborted", place};
  outcome.log = log;
  finding.verdict = judge(expect(finding.example, Policy{}), outcome);
  finding.kind = finding.verdict.kind;
  finding.signature = signature_of(finding.verdict);
  finding.cases = 3;
  return finding;
}

// Whatever crashes later, and wherever: the heap was damaged before.
TEST(Findings, ADamagedHeapIsOneFinding) {
  Report report;
  report.findings = {crash_in("SIGSEGV in mine.so+0x10", "", 3),
                     crash_in("SIGABRT in mine.so+0x20", "free(): invalid pointer\n", 4),
                     crash_in("SIGABRT in mine.so+0x30", "malloc(): corrupted top size\n", 5)};
  EXPECT_EQ(report.findings[1].signature, report.findings[2].signature);
  join_findings(report);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].signature, "crashed:where the allocator finds a damaged heap");
  EXPECT_EQ(report.findings[0].cases, 9U);
}

// The ends of the intervals of both findings add up.
TEST(Findings, JoinedOnesHaveTheCasesOfBoth) {
  Report report;
  report.findings = {crash_in("SIGSEGV in mine.so+0x10", "", 3), crash_in("SIGSEGV in mine.so+0x10", "", 4)};
  report.findings[0].between = CasesBetween{3, 20};
  join_findings(report);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].cases, 6U);
  EXPECT_EQ(report.findings[0].between, (CasesBetween{6, 23}));
}

TEST(Findings, CrashesOfAWholeHeapAreToldApart) {
  Report report;
  report.findings = {crash_in("SIGSEGV in mine.so+0x10", "", 3), crash_in("SIGABRT in mine.so+0x20", "assertion", 4)};
  join_findings(report);
  EXPECT_EQ(report.findings.size(), 2U);
}

}  // namespace
}  // namespace qconform
