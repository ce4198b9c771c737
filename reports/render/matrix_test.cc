#include "reports/render/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/forms/archive/archive.h"
#include "harness/forms/json/json_text.h"

namespace qconform::report {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

BackendResult backend(const std::string& name, const std::string& version, std::uint64_t computed) {
  BackendResult result;
  result.info = {name, version, "library"};
  result.operators["QLinearConv"].verdicts[static_cast<std::size_t>(VerdictKind::pass)] = computed;
  result.operators["QLinearConv"].verdicts[static_cast<std::size_t>(VerdictKind::unsupported)] = 10 - computed;
  return result;
}

Finding finding(const std::string& backend, const std::string& signature, std::uint64_t cases) {
  Finding result;
  result.id = "F" + std::to_string(cases);
  result.backend = backend;
  result.op_type = "QLinearConv";
  result.signature = signature;
  result.cases = cases;
  result.replay = "qconform replay " + result.id + ".json --backend " + backend;
  return result;
}

// Five releases: 1.9 computes nothing; half-away comes with 1.12 and goes after 1.14; pads-order was always there.
Report five_releases() {
  Report report;
  report.profile = "conformance";
  report.seed = 1;
  report.backends = {backend("lib:1.9", "1.9", 0),   backend("lib:1.10", "1.10", 5), backend("lib:1.12", "1.12", 5),
                     backend("lib:1.14", "1.14", 5), backend("lib", "1.30", 5),      backend("other@fast", "3", 5)};
  for (const char* name : {"lib:1.12", "lib:1.14"}) report.findings.push_back(finding(name, "half-away", 3));
  for (const char* name : {"lib:1.10", "lib:1.12", "lib:1.14", "lib"}) {
    report.findings.push_back(finding(name, "pads-order", 4));
  }
  report.findings.push_back(finding("other@fast", "half-away", 1234));
  return report;
}

TEST(Matrix, TellsSinceWhenAndUntilWhen) {
  const Matrix matrix = matrix_of(five_releases());
  ASSERT_EQ(matrix.rows.size(), 3U);
  // A cause that the newest release still has comes first.
  const MatrixRow& always = matrix.rows[0];
  EXPECT_EQ(always.signature, "pads-order");
  EXPECT_EQ(always.since, "");
  EXPECT_EQ(always.until, "");
  const MatrixRow& mended = matrix.rows[1];
  EXPECT_EQ(mended.signature, "half-away");
  EXPECT_EQ(mended.since, "lib:1.12");
  EXPECT_EQ(mended.until, "lib:1.14");
  std::vector<MatrixState> states;
  for (const MatrixCell& cell : mended.cells) states.push_back(cell.state);
  EXPECT_THAT(states, ElementsAre(MatrixState::no_right_answer, MatrixState::right, MatrixState::wrong,
                                  MatrixState::wrong, MatrixState::right));
  EXPECT_EQ(matrix.rows[2].library, "other");
}

TEST(Matrix, AddsUpFindingsOfOneCause) {
  Report report = five_releases();
  report.findings.push_back(finding("lib", "pads-order", 2));
  const Matrix matrix = matrix_of(report);
  const MatrixCell& cell = matrix.rows[0].cells.back();
  EXPECT_EQ(cell.cases, 6U);
  EXPECT_EQ(cell.finding, "F4");
}

// A release that declines what others get wrong is not told to be right.
TEST(Matrix, TakesWhatWasDeclinedForNoRightAnswer) {
  Report report;
  report.backends = {backend("lib:1", "1", 5), backend("lib:2", "2", 5), backend("lib:3", "3", 5)};
  report.findings = {finding("lib:2", "half-away", 1)};
  const auto verdicts = [](VerdictKind first, VerdictKind second, VerdictKind third, const char* failing) {
    return std::vector<CaseResult::OfBackend>{{.verdict = first, .tier = {}},
                                              {.verdict = second, .tier = {}, .finding = failing},
                                              {.verdict = third, .tier = {}}};
  };
  report.results.emplace().rows = {
      {"random", "a", "QLinearConv", "",
       verdicts(VerdictKind::unsupported, VerdictKind::wrong, VerdictKind::pass, "F1")},
      {"random", "b", "QLinearConv", "", verdicts(VerdictKind::pass, VerdictKind::pass, VerdictKind::pass, "")}};
  const MatrixRow row = matrix_of(report).rows.at(0);
  EXPECT_EQ(row.cells[0].state, MatrixState::no_right_answer);
  EXPECT_EQ(row.cells[1].state, MatrixState::wrong);
  EXPECT_EQ(row.cells[2].state, MatrixState::right);
  EXPECT_EQ(row.since, "");
  EXPECT_EQ(row.until, "lib:2");
}

// One defect, which two releases are told to have by other words.
TEST(Matrix, JoinsRowsOfOneCauseThatIsToldOtherwise) {
  Report report;
  report.backends = {backend("lib:1", "1", 5), backend("lib:2", "2", 5), backend("lib:3", "3", 5)};
  report.findings = {finding("lib:1", "half-away", 3), finding("lib:2", "partial:half-away", 2),
                     finding("lib:2", "pads-order", 1)};
  const auto row = [](const char* id, const char* in_1, const char* in_2) {
    const auto wrong = [](const char* failing) {
      return CaseResult::OfBackend{
          .verdict = *failing == '\0' ? VerdictKind::pass : VerdictKind::wrong, .tier = {}, .finding = failing};
    };
    return CaseResult{"random", id, "QLinearConv", "", {wrong(in_1), wrong(in_2), wrong("")}};
  };
  report.results.emplace().rows = {row("a", "F3", "F2"), row("b", "F3", "F2"), row("c", "F3", ""), row("d", "", "F1")};
  const Matrix matrix = matrix_of(report);
  ASSERT_EQ(matrix.rows.size(), 2U);
  const MatrixRow& joined = matrix.rows[0];
  EXPECT_EQ(joined.signature, "partial:half-away");  // as in the newest
  EXPECT_THAT(joined.also, ElementsAre("half-away"));
  EXPECT_EQ(joined.cells[0].cases, 3U);
  EXPECT_EQ(joined.cells[1].cases, 2U);
  EXPECT_EQ(joined.until, "lib:2");
  EXPECT_EQ(matrix.rows[1].signature, "pads-order");
}

// A release that gets the case wrong in another way is not right.
TEST(Matrix, TakesWhatFailsOtherwiseForNoRightAnswer) {
  Report report;
  report.backends = {backend("lib:1", "1", 5), backend("lib:2", "2", 5)};
  report.findings = {finding("lib:1", "half-away", 1), finding("lib:1", "pads-order", 2),
                     finding("lib:2", "pads-order", 3)};
  const auto row = [](const char* id, const char* in_1, const char* in_2) {
    return CaseResult{"random",
                      id,
                      "QLinearConv",
                      "",
                      {{.verdict = VerdictKind::wrong, .tier = {}, .finding = in_1},
                       {.verdict = VerdictKind::wrong, .tier = {}, .finding = in_2}}};
  };
  report.results.emplace().rows = {row("a", "F1", "F3"), row("b", "F2", "F3")};
  for (const MatrixRow& each : matrix_of(report).rows) {
    if (each.signature != "half-away") continue;
    EXPECT_EQ(each.cells[1].state, MatrixState::no_right_answer);
    EXPECT_EQ(each.until, "");
  }
}

TEST(Matrix, IsATableForEachLibrary) {
  EXPECT_EQ(matrix_table(matrix_of(five_releases()), Painter(false), 0),
            "lib                                                1.9    1.10    1.12    1.14    1.30\n"
            "QLinearConv\n"
            "  wrong, pads-order                                  -       4       4       4       4\n"
            "  wrong, half-away                                   -       .       3       3       .  since 1.12, until "
            "1.14\n"
            "lib: 2 causes in 5 backends, 1 of them in the newest that computes its cases\n"
            "\n"
            "other                                           3@fast\n"
            "QLinearConv\n"
            "  wrong, half-away                               1,234\n"
            "other: 1 cause in 1 backend, 1 of them in the newest that computes its cases\n");
}

TEST(Matrix, InMarkdownNamesTheLineThatReplays) {
  EXPECT_THAT(matrix_markdown(matrix_of(five_releases())),
              AllOf(HasSubstr("| operator | cause | 1.9 | 1.10 | 1.12 | 1.14 | 1.30 | since, until | replay |"),
                    HasSubstr("| QLinearConv | wrong, half-away | - | . | 3 | 3 | . | since 1.12, until 1.14 | "
                              "`qconform replay F3.json --backend lib:1.14` |")));
}

TEST(Matrix, ReadsBackFromJson) {
  const Matrix matrix = matrix_of(five_releases());
  const auto json = parse_json(matrix_json(matrix));
  ASSERT_TRUE(json) << json.error().text();
  const auto read = read_document<Matrix>(*json);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, matrix);
}

}  // namespace
}  // namespace qconform::report
