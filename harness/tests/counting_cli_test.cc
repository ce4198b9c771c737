// Commands count a backend that computes little or nothing, draw their conclusion, and show it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kPlugins = "plugin:" QCONFORM_PLUGINS "/";

ProgramResult judged(const std::string& backend, const std::string& declined, const std::string& options = {}) {
  const TemporaryFolder folder;
  return run_program(
      QCONFORM_PROGRAM,
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
      AllOf(ContainsRegex("conforms: .* on DequantizeLinear \\([0-9]+ of [0-9,]+ valid cases "
                          "computed\\); ConvInteger, DynamicQuantizeLinear, Graph, .*QuantizeLinear not implemented"),
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
  const ProgramResult result = run_program(QCONFORM_PROGRAM,
                                           "run --suite corpus --no-explain --no-shrink --timeout 0.1 --out " +
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
  const ProgramResult result = run_program(QCONFORM_PROGRAM,
                                           "run --suite corpus --suite sweep --suite relations:random --no-explain "
                                           "--fail-fast 3 --backend scalar --backend defect:half-away --out " +
                                               folder.path().string());
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("stopped: enough cases have failed (--fail-fast)"), ContainsRegex("wrong +wrong 3\n"),
                    HasSubstr("conforms: scalar"), Not(HasSubstr("suite sweep")), Not(HasSubstr("relations between"))));
}

TEST(Counting, ControlCharactersOfBackendsDoNotReachTheTerminal) {
  const ProgramResult result = judged(kPlugins + "declines.so", "all");
  EXPECT_THAT(result.output, AllOf(HasSubstr("\\x1b[2Jnot today"), Not(HasSubstr("\x1b[2J"))));
}

}  // namespace
}  // namespace qconform::testing
