#include "harness/engine/case_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/model/case_builder.h"

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

}  // namespace
}  // namespace qconform
