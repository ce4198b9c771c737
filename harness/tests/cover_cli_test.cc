// Tests `cover`, and what `run` says of the code that cases execute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/backends/code_coverage/code_coverage.h"
#include "harness/base/file.h"
#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// The line of covered.c with that mark.
std::uint64_t marked_line(const std::string& mark) {
  std::ifstream source(QCONFORM_SOURCE_DIRECTORY "/harness/tests/plugins/covered.c");
  std::string text;
  for (std::uint64_t line = 1; std::getline(source, text); ++line) {
    if (text.find("/* mark: " + mark + " */") != std::string::npos) return line;
  }
  ADD_FAILURE() << "no mark " << mark;
  return 0;
}

std::set<std::uint64_t> lines_not_executed(const nlohmann::json& result) {
  std::set<std::uint64_t> lines;
  for (const auto& file : result.at("files")) {
    if (file.at("file").get<std::string>().find("covered.c") == std::string::npos) continue;
    for (const auto& range : file.at("not_executed")) {
      for (auto line = range.at("first").get<std::uint64_t>(); line <= range.at("last"); ++line) lines.insert(line);
    }
  }
  return lines;
}

/// By the compiler that built the plugin.
class Cover : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_record_code()) GTEST_SKIP() << "a build with sanitizers records no code";
    if (!std::filesystem::exists(plugin_file())) GTEST_SKIP() << GetParam() << " is not installed";
  }

  [[nodiscard]] static std::string plugin_file() { return QCONFORM_PLUGINS "/covered_" + GetParam() + ".so"; }
  [[nodiscard]] static std::string backend() { return " --backend plugin:" + plugin_file(); }
  [[nodiscard]] std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Compiler, Cover, ::testing::Values("clang", "gcc"),
                         [](const auto& compiler) { return compiler.param; });

TEST_P(Cover, NamesLinesThatNoCaseExecutes) {
  const auto ran = qconform("cover --suite corpus --no-within --tries 0 --json" + backend());
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const auto result = nlohmann::json::parse(ran.output);
  EXPECT_LT(result.at("executed"), result.at("edges"));
  const auto lines = lines_not_executed(result);
  EXPECT_TRUE(lines.contains(marked_line("never"))) << ran.output;
  EXPECT_FALSE(lines.contains(marked_line("even"))) << ran.output;
  bool is_named = false;
  for (const auto& function : result.at("functions")) {
    is_named = is_named || (function.at("name") == "no_case_calls_this" && function.at("executed") == 0);
  }
  EXPECT_TRUE(is_named) << ran.output;
}

// From one case of a row, whose weights are shorter than it.
TEST_P(Cover, DrawsCasesTowardsWhatNoneExecutesAndKeepsFew) {
  std::ofstream(at("row.json")) << R"({"format": "qconform-cases", "version": 1, "cases": [
      {"id": "row", "op_type": "ConvInteger", "opset_version": 10, "inputs": [
        {"name": "x", "type": "uint8", "shape": [1, 1, 5], "data": [1, 2, 3, 4, 5]},
        {"name": "w", "type": "int8", "shape": [1, 1, 2], "data": [1, -1]}]}]})";
  const std::string chosen = "cover --no-within --tries 6000 --json --suite " + at("row.json") + backend();
  const auto ran = qconform(chosen + " -o " + at("kept.json"));
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const auto result = nlohmann::json::parse(ran.output);
  EXPECT_FALSE(lines_not_executed(result).contains(marked_line("long whole row"))) << ran.output;
  EXPECT_LE(result.at("kept"), 20) << ran.output;
  EXPECT_FALSE(result.contains("lost")) << ran.output;
  EXPECT_EQ(qconform(chosen).output, ran.output) << "the same seed, another result";

  const auto again = qconform("cover --no-within --tries 0 --json --suite " + at("kept.json") + backend());
  ASSERT_EQ(again.exit_code, 0) << again.output;
  EXPECT_EQ(nlohmann::json::parse(again.output).at("executed"), result.at("executed"));
}

// `run` measures the same over all cases of the suites: the counts must agree.
TEST_P(Cover, KeptCasesDetectWhatAllDetect) {
  const auto ran = qconform("cover --suite corpus --no-within --tries 0 --json -o " + at("kept.json") + backend());
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const auto kept = nlohmann::json::parse(ran.output).at("power");
  EXPECT_GT(kept.at("killed"), 0);
  for (const std::string& suite : {std::string("corpus"), at("kept.json")}) {
    const auto judged =
        qconform("run --no-explain --no-shrink --power --suite " + suite + " --out " + at("run") + backend());
    ASSERT_EQ(judged.exit_code, 0) << judged.output;
    const auto written = read_file(at("run/report.json"), 1 << 26);
    ASSERT_TRUE(written) << written.error().text();
    EXPECT_EQ(nlohmann::json::parse(*written).at("backends").at(0).at("power"), kept) << suite;
  }
}

TEST_P(Cover, RunSaysTheShare) {
  const auto ran = qconform("run --suite corpus --out " + at("run") + backend());
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_THAT(ran.output, ContainsRegex("executes [0-9]+ of [0-9]+ edges of its code"));
  const auto written = read_file(at("run/report.json"), 1 << 26);
  ASSERT_TRUE(written) << written.error().text();
  const auto code = nlohmann::json::parse(*written).at("backends").at(0).at("code");
  EXPECT_GT(code.at("executed"), 10);
  EXPECT_LT(code.at("executed"), code.at("edges"));
}

// Every failing case executes a line, and so do few passing ones: those whose weights are 0.
TEST_P(Cover, ExplainNamesTheLinesOfAFailure) {
  const std::string wrong = " --backend plugin:" QCONFORM_PLUGINS "/covered_" + GetParam() + "_wrong.so";
  ASSERT_EQ(qconform("cover --suite corpus --no-within --tries 5000 -o " + at("kept.json") + wrong).exit_code, 0);
  const auto ran = qconform("run --suite " + at("kept.json") + " --no-explain --no-shrink --out " + at("run") + wrong);
  ASSERT_EQ(ran.exit_code, 1) << ran.output;
  const std::string explain = "explain " + at("run/F1.json") + wrong;
  const auto explained = qconform(explain + " --json");
  ASSERT_EQ(explained.exit_code, 1) << explained.output;
  const auto suspects = nlohmann::json::parse(explained.output).at("suspects");
  ASSERT_FALSE(suspects.at("lines").empty()) << explained.output;
  const auto& first = suspects.at("lines").at(0);
  EXPECT_LE(first.at("first"), marked_line("wrong")) << first;
  EXPECT_GE(first.at("last"), marked_line("wrong")) << first;
  EXPECT_EQ(first.at("failing"), suspects.at("failing"));
  EXPECT_LT(first.at("passing"), suspects.at("passing"));
  EXPECT_THAT(qconform(explain).output, ContainsRegex("source .*covered\\.c:[0-9-]+ in one_more: [0-9]+ of [0-9]+"));
}

// The places that code scanning shows, and a person reads.
TEST_P(Cover, RunNamesTheLinesOfItsFindings) {
  const std::string wrong = " --backend plugin:" QCONFORM_PLUGINS "/covered_" + GetParam() + "_wrong.so";
  const std::string cases =
      " --case 'ConvInteger x:u8[1,1,5] w:s8[1,1,2]=1,-1' --case 'ConvInteger x:u8[1,1,6] w:s8[1,1,1]=2'";
  const auto ran = qconform("run --sarif " + at("run.sarif") + " --out " + at("run") + cases + wrong);
  ASSERT_EQ(ran.exit_code, 1) << ran.output;
  EXPECT_THAT(ran.output, ContainsRegex("source .*covered\\.c:[0-9-]+ in one_more: [0-9]+ of [0-9]+ failing"));
  const auto sarif = nlohmann::json::parse(*read_file(at("run.sarif"), 1 << 26));
  const auto& place = sarif.at("runs").at(0).at("results").at(0).at("locations").at(0).at("physicalLocation");
  EXPECT_THAT(place.at("artifactLocation").at("uri").get<std::string>(), HasSubstr("covered.c"));
  EXPECT_LE(place.at("region").at("startLine"), marked_line("wrong"));
  EXPECT_GE(place.at("region").value("endLine", std::uint64_t{0}), marked_line("wrong"));
}

TEST_P(Cover, WritesTheLinesForOtherTools) {
  const std::string files = " --lcov " + at("lines.info") + " --cobertura " + at("lines.xml");
  ASSERT_EQ(qconform("cover --suite corpus --no-within --tries 0" + files + backend()).exit_code, 0);
  const std::string lcov = *read_file(at("lines.info"), 1 << 20);
  const std::string never = std::to_string(marked_line("never"));
  const std::string even = std::to_string(marked_line("even"));
  EXPECT_THAT(lcov, AllOf(ContainsRegex("SF:.*covered\\.c\n"), HasSubstr("DA:" + never + ",0\n"),
                          HasSubstr("DA:" + even + ",1\n"), HasSubstr("end_of_record\n")));
  const std::string cobertura = *read_file(at("lines.xml"), 1 << 20);
  EXPECT_THAT(cobertura, AllOf(ContainsRegex("filename=\"[^/].*covered\\.c\""),
                               HasSubstr("<line number=\"" + never + "\" hits=\"0\"/>"),
                               HasSubstr("<line number=\"" + even + "\" hits=\"1\"/>")));
}

TEST_P(Cover, TableFitsATerminal) {
  const auto ran = qconform("cover --suite corpus --no-within --tries 0" + backend());
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_THAT(ran.output, AllOf(HasSubstr("functions that no case executes"), HasSubstr("no_case_calls_this"),
                                HasSubstr("lines that no case executes"), ContainsRegex("[0-9]+ cases execute all")));
  std::istringstream lines(ran.output);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_P(Cover, WithoutObjdumpCountsWhatItCan) {
  const auto ran = qconform("cover --suite corpus --no-within --tries 0" + backend(), "PATH=/nowhere");
  EXPECT_THAT(ran.output, HasSubstr("objdump is missing"));
  EXPECT_EQ(ran.exit_code, GetParam() == "clang" ? 0 : 2) << ran.output;
}

TEST(CoverErrors, NameTheFlags) {
  if (!can_record_code()) GTEST_SKIP() << "a build with sanitizers records no code";
  const auto ran = qconform("cover --backend plugin:" QCONFORM_PLUGINS "/row.so");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.output, HasSubstr("-fsanitize-coverage=trace-pc-guard,pc-table"));
  EXPECT_THAT(ran.output, HasSubstr("is not instrumented"));
}

TEST(CoverErrors, SayWhatIsNoPlugin) {
  if (!can_record_code()) GTEST_SKIP() << "a build with sanitizers records no code";
  const auto kernel = qconform("cover --backend scalar");
  EXPECT_EQ(kernel.exit_code, 2);
  EXPECT_THAT(kernel.output, HasSubstr("--backend: expected plugin:PATH.so, got \"scalar\""));
  const auto file = qconform("cover --backend plugin:" QCONFORM_PLUGINS "/row.so -o kept.txt");
  EXPECT_EQ(file.exit_code, 2);
  EXPECT_THAT(file.output, HasSubstr("-o: expected a case file, which ends in .json, got \"kept.txt\""));
}

}  // namespace
}  // namespace qconform::testing
