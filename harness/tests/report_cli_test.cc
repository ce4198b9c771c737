// The forms of a report, of the commands that make one and of `report`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/base/file.h"
#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::HasSubstr;

class FormsOfReports : public ::testing::Test {
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

TEST_F(FormsOfReports, AreWrittenByRun) {
  expect_forms_of("run --suite random --cases 60 --seed 7 --backend pad-raw-zero");
}

TEST_F(FormsOfReports, AreWrittenByFuzzAndMerge) {
  expect_forms_of("fuzz --cases 600 --seed 7 --backend pad-raw-zero");
  const auto merged = planted("report merge " + at("run") + " -o " + at("merged") + " --markdown " + at("merged.md"));
  EXPECT_EQ(merged.exit_code, 1) << merged.output;
  EXPECT_THAT(text("merged.md"), HasSubstr("pad-raw-zero"));
}

TEST_F(FormsOfReports, APageIsWrittenOrRefusedBeforeAnythingRuns) {
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

TEST_F(FormsOfReports, AFileThatCannotBeWrittenIsNamed) {
  const std::string run = "run --suite random --cases 1 --backend scalar --out " + at("run");
  const auto result = qconform(run + " --junit /dev/null/x.xml");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("--junit"));
}

TEST_F(FormsOfReports, HtmlIsWrittenOrSaysWhatIsMissing) {
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

TEST_F(FormsOfReports, ThePageObeysTheLimitsOfReports) {
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

TEST_F(FormsOfReports, ThePageComparesWithABaseline) {
  ASSERT_EQ(qconform("run --suite random --cases 20 --backend scalar --out " + at("run")).exit_code, 0);
  if (!exists("run/report.html")) GTEST_SKIP() << "this qconform has no page";
  const std::string report = at("run/report.json");
  const auto html = qconform("report html " + report + " --compare " + report + " -o " + at("compared.html"));
  EXPECT_EQ(html.exit_code, 0) << html.output;
  EXPECT_NE(text("compared.html"), text("run/report.html"));
  const auto gate = qconform("gate --baseline " + report + " " + report + " --html " + at("gate.html"));
  EXPECT_EQ(gate.exit_code, 0) << gate.output;
  EXPECT_EQ(text("gate.html"), text("compared.html"));
  const auto none = qconform("report html " + report + " --compare " + at("none.json") + " -o " + at("x.html"));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.output, HasSubstr("--compare: "));
}

// Commands count a backend that computes little or nothing, draw their conclusion, and show it.

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::Not;

const std::string kPlugins = "plugin:" QCONFORM_PLUGINS "/";

ProgramResult judged(const std::string& backend, const std::string& declined, const std::string& options = {}) {
  const TemporaryFolder folder;
  return qconform(
      "run --suite corpus --no-explain --out " + folder.path().string() + " --backend " + backend + " " + options,
      declined.empty() ? "" : "DECLINES=" + declined);
}

TEST(Counting, ABackendThatDeclinesEveryCaseIsNotJudged) {
  const ProgramResult result = judged(kPlugins + "declines.so", "all");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("nothing was judged: "), ContainsRegex("all [0-9,]+ valid cases declined"),
                                   ContainsRegex("QLinearConv +not implemented: [0-9,]+ valid cases declined"),
                                   Not(HasSubstr("conforms: "))));
}

TEST(Counting, AnOperatorThatIsNotComputedIsNotImplemented) {
  const ProgramResult result = judged(kPlugins + "dequantize.so", "");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(
      result.output,
      AllOf(ContainsRegex(
                "conforms: .* on DequantizeLinear \\([0-9]+ of [0-9,]+ valid cases "
                "computed\\); ConvInteger, Graph with [0-9]+ operators, QLinearConv, QuantizeLinear not implemented"),
            ContainsRegex("DequantizeLinear +[0-9]+ +0 +[0-9]+ +[0-9,]+ +0")));
}

TEST(Counting, ReportsOneComputedCase) {
  const ProgramResult result = judged(kPlugins + "declines.so", "all-but-one", "--isolation none");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, ContainsRegex("DequantizeLinear \\(1 of [0-9,]+ valid cases computed\\)"));
}

TEST(Counting, ReportsHalfOfTheCasesAsComputed) {
  const ProgramResult result = judged(kPlugins + "declines.so", "half");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output,
              ContainsRegex("conforms: .* on DequantizeLinear \\([0-9]+ of [0-9,]+ valid cases computed"));
}

TEST(Counting, CornerCasesAreThoseOfComputedCases) {
  const ProgramResult none = judged(kPlugins + "declines.so", "all", "--verbose");
  EXPECT_THAT(none.output, AllOf(HasSubstr("corner cases in computed cases 0 of"),
                                 HasSubstr("0 on an exact tie, 0 near one"), Not(HasSubstr("corner cases reached 5"))));
  const ProgramResult some = judged(kPlugins + "dequantize.so", "", "--verbose");
  EXPECT_THAT(some.output, ContainsRegex("corner cases in computed cases [1-9][0-9]? of"));
}

// The reference refuses what is out of contract; here it is not asked to.
TEST(Counting, CasesOutOfContractAreNotSentToWhatAssumesValidNodes) {
  for (const char* const options : {"--valid-only", ""}) {
    const bool is_named = std::string(options).empty();
    const ProgramResult result = judged(is_named ? "scalar@valid-only" : "scalar", "", options);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_THAT(result.output, AllOf(ContainsRegex("not asked +[0-9]+ cases out of contract: refusing was not judged"),
                                     HasSubstr("conforms: scalar@valid-only on ConvInteger")));
  }
  EXPECT_THAT(
      judged(kPlugins + "declines.so@valid-only", "all").output,
      AllOf(HasSubstr("nothing was judged"), ContainsRegex("QLinearConv +not implemented.*declined, [0-9]+ rightly")));
}

TEST(Stopped, ABackendThatHangsTenTimesInARowGetsNoMoreCases) {
  const TemporaryFolder folder;
  const ProgramResult result = qconform("run --suite corpus --no-explain --no-shrink --timeout 0.1 --out " +
                                            folder.path().string() + " --backend " + kPlugins + "fickle.so",
                                        "FICKLE=hang");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(
      result.output,
      AllOf(HasSubstr("stopped: 10 cases in a row timed out, refused ones aside: later cases were not sent"),
            ContainsRegex("DequantizeLinear +0 +10 "), ContainsRegex("not asked +[0-9,]+ cases after it was stopped")));
}

TEST(Stopped, EnoughFailuresEndTheRun) {
  const TemporaryFolder folder;
  const ProgramResult result = qconform(
      "run --suite corpus --suite sweep --suite relations:random --no-explain "
      "--fail-fast 3 --backend scalar --backend defect:half-away --out " +
      folder.path().string());
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("stopped: enough cases have failed (--fail-fast)"), ContainsRegex("wrong +wrong 3\n"),
                    HasSubstr("conforms: scalar"), Not(HasSubstr("suite sweep")), Not(HasSubstr("relations between"))));
}

TEST(Stopped, NothingIsExplainedWhereEnoughHasFailed) {
  const TemporaryFolder folder;
  const ProgramResult result =
      qconform("run --suite corpus --fail-fast 1 --backend defect:half-away --out " + folder.path().string());
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("F1 wrong"), Not(HasSubstr("explained")), Not(HasSubstr("shrunk"))));
}

TEST(Limits, FilesThatMayNotGrowAreAnErrorThatNamesTheLimit) {
  for (const std::string command : {"run --suite random --cases 20", "fuzz --cases 600 --seed 1 --no-within"}) {
    const TemporaryFolder folder;
    const ProgramResult result =
        qconform(command + " --backend scalar --isolation all --out " + folder.path().string(), "ulimit -f 8;");
    EXPECT_EQ(result.exit_code, 2) << command << "\n" << result.output;
    EXPECT_THAT(result.output, AllOf(HasSubstr("ulimit -f"), Not(HasSubstr("internal error")))) << command;
  }
}

TEST(News, TheFirstFailureOfEachBackendIsToldWithACaseThatReplays) {
  const TemporaryFolder folder;
  const ProgramResult result = qconform(
      "run --suite corpus --backend scalar --backend defect:half-away --backend defect:kernel-flipped "
      "--no-explain --no-shrink --out " +
      folder.path().string());
  EXPECT_EQ(result.exit_code, 1) << result.output;
  for (const std::string number : {"2", "3"}) {
    const std::string name = number == "2" ? "half-away" : "kernel-flipped";
    const std::string file = folder.path() / ("first-" + number + ".json");
    EXPECT_THAT(result.output, ContainsRegex("first failure of defect:" + name +
                                             ": [^\n]+, wrong: [^\n]+\n"
                                             "  [^\n]+; y\\[[0-9,]*\\] got [^\n]+ admissible [^\n]+\n"
                                             "  qconform replay " +
                                             file + " --backend defect:" + name));
    EXPECT_EQ(qconform("replay " + file + " --backend defect:" + name).exit_code, 1);
    EXPECT_EQ(qconform("replay " + file + " --backend scalar").exit_code, 0);
  }
  EXPECT_THAT(result.output, Not(HasSubstr("first failure of scalar")));
}

TEST(News, FuzzTellsTheFirstFailureWhileItRuns) {
  const TemporaryFolder folder;
  const ProgramResult result = qconform(
      "fuzz --cases 6000 --seed 5 --backend scalar --backend defect:half-away --no-explain --no-shrink --out " +
      folder.path().string());
  EXPECT_EQ(result.exit_code, 1) << result.output;
  const std::string file = folder.path() / "first-2.json";
  EXPECT_THAT(result.output, ContainsRegex("first failure of defect:half-away: [^\n]+, wrong: [^\n]+\n"
                                           "  [^\n]+; y\\[[0-9,]*\\] got [^\n]+ admissible [^\n]+\n"
                                           "  qconform replay " +
                                           file + " --backend defect:half-away"));
  EXPECT_EQ(qconform("replay " + file + " --backend defect:half-away").exit_code, 1);
  EXPECT_THAT(result.output, Not(HasSubstr("first failure of scalar")));
}

TEST(News, ABrokenRelationIsToldToo) {
  const TemporaryFolder folder;
  const ProgramResult result =
      qconform("run --suite relations:corpus --backend defect:half-away --no-shrink --out " + folder.path().string());
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, ContainsRegex("first failure of defect:half-away: [^\n]+, inconsistent"));
}

TEST(Counting, ControlCharactersOfBackendsDoNotReachTheTerminal) {
  const ProgramResult result = judged(kPlugins + "declines.so", "all");
  EXPECT_THAT(result.output, AllOf(HasSubstr("\\x1b[2Jnot today"), Not(HasSubstr("\x1b[2J"))));
}

// Waivers on the command line: drafted, filled in, and used.

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

TEST(Waivers, ADraftCoversTheSameRunOnceItHasReasons) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "waivers.json").string();
  const std::string run = "run --no-shrink --suite random --cases 300 --out " + folder.path().string() + " --backend ";
  const auto found = qconform(run + "defect:half-away --draft-waivers " + file);
  EXPECT_EQ(found.exit_code, 1) << found.output;

  const auto unfinished = qconform(run + "defect:half-away --waivers " + file);
  EXPECT_EQ(unfinished.exit_code, 2);
  EXPECT_THAT(unfinished.output, AllOf(HasSubstr("--waivers"), HasSubstr("waivers[0].reason: must not be empty")));

  std::string text = *read_file(file, 1 << 20);
  replace_all(text, "\"\"", "\"known to us\"");
  ASSERT_TRUE(write_file(file, text));
  const auto waived = qconform(run + "defect:half-away --waivers " + file);
  EXPECT_EQ(waived.exit_code, 0) << waived.output;
  EXPECT_THAT(waived.output, AllOf(HasSubstr(" waived)"), HasSubstr("known to us"), HasSubstr("0 findings beyond")));
  // Cases that nobody has seen yet are covered too.
  const auto other_cases = qconform(run + "defect:half-away --seed 2 --waivers " + file);
  EXPECT_EQ(other_cases.exit_code, 0) << other_cases.output;

  // Another backend, and another defect of it, are not covered.
  EXPECT_EQ(qconform(run + "defect:half-up --waivers " + file).exit_code, 1);
  replace_all(text, "defect:half-away", "defect:half-up");
  ASSERT_TRUE(write_file(file, text));
  const auto other_defect = qconform(run + "defect:half-up --waivers " + file);
  EXPECT_EQ(other_defect.exit_code, 1);
  EXPECT_THAT(other_defect.output, HasSubstr("waives nothing here"));
}

}  // namespace
}  // namespace qconform::testing
