#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/gate/gate.h"

namespace qconform::gate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Finding finding(std::string id, std::string backend, std::string signature, std::uint64_t cases) {
  Finding result;
  result.id = std::move(id);
  result.backend = std::move(backend);
  result.op_type = "QLinearConv";
  result.signature = std::move(signature);
  result.cases = cases;
  return result;
}

// Makes a report on backends that got cases of QLinearConv.
Report report_of(const std::vector<std::string>& backends, std::vector<Finding> findings) {
  Report report;
  for (const std::string& name : backends) {
    BackendResult& backend = report.backends.emplace_back();
    backend.info.name = name;
    backend.operators["QLinearConv"].verdicts[static_cast<std::size_t>(VerdictKind::pass)] = 100;
  }
  report.findings = std::move(findings);
  return report;
}

TEST(Causes, AreNewStayedGoneOrNotTested) {
  const Report before =
      report_of({"mine", "other"}, {finding("F1", "mine", "pad-raw-zero", 7), finding("F2", "mine", "half-away", 3),
                                    finding("F3", "other", "half-away", 5), finding("F4", "mine", "pad-raw-zero", 2)});
  const Report now =
      report_of({"mine"}, {finding("F1", "mine", "axis-ignored", 4), finding("F2", "mine", "pad-raw-zero", 8)});
  const auto comparison = compare({"before.json", before}, {"now.json", now}, nullptr);
  ASSERT_TRUE(comparison) << comparison.error().text();
  ASSERT_EQ(comparison->causes.size(), 4U);
  EXPECT_TRUE(comparison->same_cases);

  const ComparedCause& added = comparison->causes[0];
  EXPECT_EQ(added.state, CauseState::appeared);
  EXPECT_EQ(added.signature, "axis-ignored");
  EXPECT_THAT(added.findings, ElementsAre("F1"));
  EXPECT_THAT(added.findings_before, IsEmpty());

  const ComparedCause& stayed = comparison->causes[1];
  EXPECT_EQ(stayed.state, CauseState::stayed);
  EXPECT_EQ(stayed.cases, 8U);
  EXPECT_EQ(stayed.cases_before, 9U);
  EXPECT_THAT(stayed.findings_before, ElementsAre("F1", "F4"));

  EXPECT_EQ(comparison->causes[2].state, CauseState::gone);
  EXPECT_EQ(comparison->causes[2].signature, "half-away");
  EXPECT_EQ(comparison->causes[3].state, CauseState::not_tested);
  EXPECT_EQ(comparison->causes[3].backend, "other");
}

// A waiver decides whether it counts, not whether it is there.
TEST(Causes, HaveWaivedFindingsToo) {
  Report before = report_of({"mine"}, {finding("F1", "mine", "half-away", 3)});
  Report now = before;
  now.findings[0].waiver = WaivedBy{"known", "it is known", "docs"};
  const auto comparison = compare({"before.json", before}, {"now.json", now}, nullptr);
  ASSERT_TRUE(comparison) << comparison.error().text();
  ASSERT_EQ(comparison->causes.size(), 1U);
  EXPECT_EQ(comparison->causes[0].state, CauseState::stayed);
}

}  // namespace
}  // namespace qconform::gate
