// The forms of a report, of the commands that make one and of `report`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/tests/programs.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::HasSubstr;

class ReportForms : public ::testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return (folder_.path() / name).string(); }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(at(name)); }

  // Expects that `report` makes the forms that a command wrote itself from the command's report.
  void expect_forms_of(const std::string& command) {
    const auto ran =
        planted(command + " --out " + at("run") + " --junit " + at("forms/a.xml") + " --markdown " + at("forms/a.md"));
    EXPECT_EQ(ran.exit_code, 1) << ran.output;
    ASSERT_EQ(planted("report junit " + at("run/report.json") + " -o " + at("b.xml")).exit_code, 0);
    ASSERT_EQ(planted("report markdown " + at("run/report.json") + " -o " + at("b.md")).exit_code, 0);
    EXPECT_THAT(text("forms/a.xml"), HasSubstr("<testsuites"));
    EXPECT_EQ(text("forms/a.xml"), text("b.xml"));
    EXPECT_THAT(text("forms/a.md"), HasSubstr("pad-raw-zero"));
    EXPECT_EQ(text("forms/a.md"), text("b.md"));
  }

  TemporaryFolder folder_;
};

TEST_F(ReportForms, AreWrittenByRun) {
  expect_forms_of("run --suite random --cases 60 --seed 7 --backend pad-raw-zero");
}

TEST_F(ReportForms, AreWrittenByFuzzAndMerge) {
  expect_forms_of("fuzz --cases 600 --seed 7 --backend pad-raw-zero");
  const auto merged = planted("report merge " + at("run") + " -o " + at("merged") + " --markdown " + at("merged.md"));
  EXPECT_EQ(merged.exit_code, 1) << merged.output;
  EXPECT_THAT(text("merged.md"), HasSubstr("pad-raw-zero"));
}

TEST_F(ReportForms, APageIsWrittenOrRefusedBeforeAnythingRuns) {
  const auto ran =
      qconform("run --suite random --cases 5 --backend scalar --out " + at("run") + " --html " + at("a.html"));
  EXPECT_EQ(ran.exit_code, exists("a.html") ? 0 : 2) << ran.output;
  if (exists("a.html")) {
    EXPECT_EQ(text("a.html"), text("run/report.html"));
    return;
  }
  EXPECT_THAT(ran.output, HasSubstr("--html: this qconform was built without the page: "));
  EXPECT_FALSE(exists("run"));
}

TEST_F(ReportForms, AFileThatCannotBeWrittenIsNamed) {
  const std::string run = "run --suite random --cases 1 --backend scalar --out " + at("run");
  const auto result = qconform(run + " --junit /dev/null/x.xml");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("--junit"));
}

TEST_F(ReportForms, HtmlIsWrittenOrSaysWhatIsMissing) {
  ASSERT_EQ(qconform("run --suite random --cases 20 --backend scalar --out " + at("run")).exit_code, 0);
  const auto html = qconform("report html " + at("run/report.json") + " -o " + at("page.html"));
  EXPECT_EQ(html.exit_code, exists("page.html") ? 0 : 2);
  EXPECT_EQ(exists("page.html"), exists("run/report.html"));
  if (html.exit_code == 2) {
    EXPECT_THAT(html.output, HasSubstr("built without the page: "));
    GTEST_SKIP() << html.output;
  }
  const auto wrong =
      qconform("report html " + at("run/report.json") + " --bench " + at("run/report.json") + " -o " + at("x"));
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("run/report.json: expected \"format\": \"qconform-bench\""));
  std::ofstream(at("later.json")) << R"({"format": "qconform-report", "version": 99})";
  const auto later = qconform("report html " + at("later.json") + " -o " + at("x"));
  EXPECT_EQ(later.exit_code, 2);
  EXPECT_THAT(later.output, HasSubstr("later.json: version 99: this qconform reads 1 to "));
  EXPECT_EQ(qconform("report html " + at("none.json") + " -o " + at("x")).exit_code, 2);
}

TEST_F(ReportForms, ThePageObeysTheLimitsOfReports) {
  ASSERT_EQ(qconform("run --suite random --cases 5 --backend scalar --out " + at("run")).exit_code, 0);
  if (!exists("run/report.html")) GTEST_SKIP() << "this qconform has no page";
  std::ofstream many(at("many.json"));
  many << R"({"format": "qconform-report", "version": 1, "skipped": {)";
  for (int i = 0; i < 40'000; ++i) many << (i == 0 ? "" : ", ") << '"' << i << R"(": 1)";
  many << "}}";
  many.close();
  for (const char* form : {"html", "junit", "markdown", "summary"}) {
    const auto refused = qconform(std::string("report ") + form + " " + at("many.json") + " -o " + at("x"));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.output, HasSubstr("many.json: an object has more than 16384 keys [rule limit]"));
  }
}

TEST_F(ReportForms, ThePageComparesWithABaseline) {
  ASSERT_EQ(qconform("run --suite random --cases 20 --backend scalar --out " + at("run")).exit_code, 0);
  if (!exists("run/report.html")) GTEST_SKIP() << "this qconform has no page";
  const std::string report = at("run/report.json");
  const auto html = qconform("report html " + report + " --compare " + report + " -o " + at("compared.html"));
  EXPECT_EQ(html.exit_code, 0) << html.output;
  EXPECT_THAT(text("compared.html"), HasSubstr(R"({"format":"qconform-gate")"));
  const auto gate = qconform("gate --baseline " + report + " " + report + " --html " + at("gate.html"));
  EXPECT_EQ(gate.exit_code, 0) << gate.output;
  EXPECT_EQ(text("gate.html"), text("compared.html"));
  const auto none = qconform("report html " + report + " --compare " + at("none.json") + " -o " + at("x.html"));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.output, HasSubstr("--compare: "));
}

}  // namespace
}  // namespace qconform::testing
