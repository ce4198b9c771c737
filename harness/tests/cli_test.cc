// The command line end to end: exit codes, messages, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/file.h"
#include "harness/forms/json/case_json.h"
#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"
#include "harness/onnx/case_model.h"
#include "harness/suites/drawn.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/linear_builder.h"
#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Run, ExitsZeroWhenEverythingConforms) {
  const TemporaryFolder folder;
  const auto result = qconform("run --suite random --cases 200 --seed 9 --out " + folder.path().string());
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("seed 9"), HasSubstr("scalar"), HasSubstr("QLinearConv"),
                                   HasSubstr("200 cases"), HasSubstr("conforms"), HasSubstr("report.json")));
  EXPECT_THAT(result.output, Not(HasSubstr("\033["))) << "no colour when it is not a terminal";
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "report.json"));
}

// A kernel that is right in other terms than the default profile's is told so before anything else, and how to judge by
// them.
TEST(Run, SaysThatACaseInALineHasToBeRefused) {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& line) {
    return qconform("run --backend scalar --case '" + line + "' --out " + folder.path().string()).output;
  };
  EXPECT_THAT(run("QuantizeLinear x=1.5 y_scale=1"), Not(HasSubstr("has to refuse")));
  EXPECT_THAT(run("QLinearConv ic4ih8oc4kh3ph1 w_scale=0.5,1"),
              HasSubstr("--case: a backend has to refuse this case: w_scale: expected a scalar or shape [4]"));
}

TEST(Run, TellsInWhichArithmeticAllWrongValuesAreRight) {
  struct JudgingTerms {
    const char* defect;
    const char* judged_by;
    const char* text;
    const char* profile;
  };
  constexpr JudgingTerms kTerms[] = {
      {"double-round", "conformance", "conforms in fixed point, Q31; not correctly rounded; ", "tflite"},
      {"q31-single-round", "conformance", "conforms in fixed point, Q31; not correctly rounded; ",
       "tflite-single-rounding"},
      {"scale-associate-right", "correctly-rounded", "conforms in float32, F_5; not correctly rounded; ",
       "conformance"}};
  for (const JudgingTerms& terms : kTerms) {
    const TemporaryFolder folder;
    const std::string command = std::string("run --no-explain --no-shrink --suite corpus --backend defect:") +
                                terms.defect + " --out " + folder.path().string() + " --profile ";
    const auto strict = qconform(command + terms.judged_by);
    EXPECT_EQ(strict.exit_code, 1) << strict.output;
    EXPECT_THAT(strict.output, HasSubstr(std::string("\ndoes not conform: defect:") + terms.defect + ": " + terms.text +
                                         "--profile " + terms.profile + "\n"));
    const auto loose = qconform(command + terms.profile);
    EXPECT_EQ(loose.exit_code, 0) << loose.output;
  }
}

// A backend that also fails in another way conforms in no terms.
TEST(Run, DoesNotConformInAnyTermsWhereSomethingElseFails) {
  const TemporaryFolder folder;
  const auto result =
      qconform("run --no-explain --no-shrink --suite corpus --backend defect:double-round+dq-expanded --out " +
               folder.path().string());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output,
              HasSubstr("\ndoes not conform: defect:double-round+dq-expanded: QLinearConv conforms in fixed "
                        "point, Q31; not correctly rounded; --profile tflite\n"));
}

// A contradiction is a finding with the cases on both sides, and its replay line shows it again.
TEST(Relations, AContradictionIsFoundAndReplayed) {
  const TemporaryFolder folder;
  const auto run = planted("run --suite relations --cases 60 --backend pad-raw-zero --out " + folder.path().string());
  EXPECT_EQ(run.exit_code, 1) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("x-shift-128"), HasSubstr("broken"), HasSubstr("inconsistent (x-shift-128)"),
                                HasSubstr("--relation x-shift-128")));
  const std::string example = (folder.path() / "F1.json").string();
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "F1-related.json"));
  const auto replay = "replay " + example + " --relation x-shift-128 --backend ";
  const auto replayed = planted(std::string(replay) + "pad-raw-zero");
  EXPECT_EQ(replayed.exit_code, 1) << replayed.output;
  EXPECT_THAT(replayed.output, AllOf(HasSubstr("inconsistent"), HasSubstr("moved by 128")));
  EXPECT_EQ(planted(std::string(replay) + "scalar").exit_code, 0);
}

TEST(Run, IsNotBegunWhereItsReportCannotBeWritten) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.path() / "file", ""));
  const std::string out = " --out " + (folder.path() / "file" / "out").string();
  for (const char* command : {"run --backend defect:half-away --suite corpus", "matrix --backend scalar --suite corpus",
                              "bench --backend scalar --layers '1x1 8->8 @8'"}) {
    const auto result = qconform(command + out);
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_THAT(result.output, HasSubstr("--out: cannot make the folder")) << command;
    EXPECT_THAT(result.output, Not(HasSubstr("seed"))) << command;
  }
}

TEST(Run, PrintsTheSeedBeforeAnythingElse) {
  const TemporaryFolder folder;
  const auto result = qconform("run --suite random --cases 1 --seed 77 --out " + folder.path().string());
  EXPECT_EQ(result.output.find("qconform"), 0U);
  EXPECT_LT(result.output.find("seed 77"), result.output.find('\n'));
}

std::string line_with(const std::string& output, const std::string& part) {
  const std::size_t at = output.find(part);
  return at == std::string::npos ? "" : output.substr(at, output.find('\n', at) - at);
}

TEST(CommandLine, ShowsFirstStepsWithoutArguments) {
  const auto result = qconform("");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, AllOf(HasSubstr("qconform list backends"), HasSubstr("qconform run --backend")));
}

TEST(CommandLine, DoctorShowsWhatIsInstalledAndMissing) {
  const auto result = qconform("doctor");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, AllOf(HasSubstr("kernels      scalar"), HasSubstr("libraries"), HasSubstr("onednn"),
                                   HasSubstr("peers"), HasSubstr("processors"), HasSubstr("page")));
}

TEST(CommandLine, TakesNoNegativeNumberForALargeOne) {
  for (const char* const option : {"--seed", "--cases"}) {
    const auto result = qconform(std::string("run --suite random --backend scalar ") + option + " -1");
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, AllOf(HasSubstr(option), HasSubstr("-1 is below 0")));
  }
}

// Builds without Node.js have no page; what the page shows is tested in a browser.
TEST(Fuzz, RepeatsTheCasesOfASeed) {
  const TemporaryFolder folder;
  const std::string fuzz = "fuzz --verbose --backend scalar --cases 200 --out " + folder.path().string() + " --seed ";
  const auto first = qconform(fuzz + "5");
  EXPECT_EQ(first.exit_code, 0) << first.output;
  EXPECT_THAT(first.output, AllOf(HasSubstr("seed 5"), HasSubstr("200 cases"), HasSubstr("conforms")));
  EXPECT_EQ(line_with(first.output, "digest"), line_with(qconform(fuzz + "5").output, "digest"));
  EXPECT_NE(line_with(first.output, "digest"), line_with(qconform(fuzz + "6").output, "digest"));
}

TEST(Fuzz, DrawsASeedAndEndsInTime) {
  const TemporaryFolder folder;
  const std::string fuzz = "fuzz --backend scalar --for 200ms --out " + folder.path().string();
  const auto first = qconform(fuzz);
  EXPECT_EQ(first.exit_code, 0) << first.output;
  EXPECT_NE(line_with(first.output, "seed "), line_with(qconform(fuzz).output, "seed "));
}

TEST(Fuzz, EndsWithItsReportWhenInterrupted) {
  const TemporaryFolder folder;
  // In the foreground, timeout sends the signal once; else also to its group, and a second one ends the program.
  const auto result = qconform("fuzz --backend scalar --out " + folder.path().string(),
                               "timeout --foreground --preserve-status --signal INT 3");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("conforms"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "report.json"));
}

// In three of four blocks, which is all of a campaign of three.
TEST(Fuzz, StaysInsideWhatTheBackendsTake) {
  const TemporaryFolder folder;
  const std::string fuzz = "fuzz --backend scalar --seed 1 --cases 512 --out " + folder.path().string();
  const std::string only = " --only \"QuantizeLinear: y type=uint8\"";
  const auto inside = qconform(fuzz + only);
  EXPECT_EQ(inside.exit_code, 0) << inside.output;
  EXPECT_THAT(inside.output, AllOf(HasSubstr("QuantizeLinear"), Not(HasSubstr("QLinearConv"))));
  const auto other = qconform(fuzz + " --resume --only \"QuantizeLinear: y type=int8\"");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output, HasSubstr("contracts (--only)"));
  const auto same = qconform(fuzz + " --resume");
  EXPECT_EQ(same.exit_code, 0) << same.output;
}

TEST(Fuzz, FindsAndShrinksADefectThatNeedsATie) {
  const TemporaryFolder folder;
  const auto result = qconform("fuzz --backend defect:half-away --seed 1 --cases 1000 --out " + folder.path().string());
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("wrong"), HasSubstr("1 of 1 elements wrong"), HasSubstr("fuzz-1-")));
}

TEST(DefectModels, AreListedAndRunAsBackends) {
  const TemporaryFolder folder;
  const std::string run = "run --suite corpus --out " + folder.path().string() + " --backend ";
  const auto both = qconform(run + "defect:half-away+k-tail");
  EXPECT_EQ(both.exit_code, 1) << both.output;
  EXPECT_THAT(both.output, HasSubstr("defect:half-away+k-tail"));
  const auto unknown = qconform(run + "defect:halfaway");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("did you mean half-away?"));
  EXPECT_THAT(qconform("list defects").output, HasSubstr("half-away"));
  EXPECT_THAT(qconform("list defects --json").output, HasSubstr("\"id\": \"half-away\""));
}

struct PlantedKernel {
  const char* kernel;
  const char* says;
};

void PrintTo(const PlantedKernel& planted, std::ostream* out) {
  *out << planted.kernel;
}

class PlantedDefect : public ::testing::TestWithParam<PlantedKernel> {};

TEST_P(PlantedDefect, IsCaughtAndTheRunExitsOne) {
  const TemporaryFolder folder;
  const auto result = planted(std::string("run --suite random --cases 300 --no-explain --backend ") +
                              GetParam().kernel + " --out " + folder.path().string());
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr(GetParam().says), HasSubstr("F1"), HasSubstr("replay")));

  // The replay line shows the same failure again.
  const std::string file = (folder.path() / "F1.json").string();
  const auto replayed = planted("replay " + file + " --backend " + GetParam().kernel);
  EXPECT_EQ(replayed.exit_code, 1) << replayed.output;
  EXPECT_THAT(replayed.output, HasSubstr(GetParam().says));
  EXPECT_EQ(planted("replay " + file + " --backend scalar").exit_code, 0);
  const auto json = planted("replay " + file + " --json --backend scalar --backend " + GetParam().kernel);
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_THAT(json.output, AllOf(HasSubstr("\"verdict\": \"pass\""), HasSubstr("\"expectation\": \"valid\"")));
}

INSTANTIATE_TEST_SUITE_P(Kernels, PlantedDefect,
                         ::testing::Values(PlantedKernel{"pad-raw-zero", "wrong"},
                                           PlantedKernel{"pair-sat-i16", "wrong"},
                                           PlantedKernel{"past-end", "wrote 1 byte past the output"},
                                           PlantedKernel{"before-start", "wrote 1 byte before the output"}));

// A finding comes in every form, all of the same small case, and keeps the case that it came from.
TEST(Findings, AreShrunkAndWrittenInEveryForm) {
  const TemporaryFolder folder;
  const std::string run = "run --suite random --cases 300 --backend pair-sat-i16 --out " + folder.path().string();
  const auto result = planted(run);
  EXPECT_THAT(result.output, AllOf(HasSubstr("smallest  x ["), HasSubstr("got"), HasSubstr("exact"),
                                   HasSubstr("no single step makes it smaller")));
  const auto shrunk = load_case(folder.path() / "F1.json");
  const auto original = load_case(folder.path() / "F1.original.json");
  const auto model = read_case_model(folder.path() / "F1.onnx");
  const auto test = read_case_folder(folder.path() / "F1");
  ASSERT_TRUE(shrunk && original && model && test);
  EXPECT_EQ(*model, *shrunk);
  EXPECT_EQ(test->front(), *shrunk);
  EXPECT_EQ(shrunk->input(3)->elements(), 2) << "the kernel pairs the products of two taps";
  EXPECT_GT(original->input(3)->elements(), 2);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "F1" / "test_data_set_0" / "output_0.pb"));
  std::ifstream note(folder.path() / "F1" / "replay.txt");
  const std::string text{std::istreambuf_iterator<char>(note), {}};
  EXPECT_THAT(text, HasSubstr("qconform replay " + (folder.path() / "F1.json").string() + " --backend pair-sat-i16"));

  // Without explanations, which take the run most of its time, the finding comes from a case of its own.
  ASSERT_EQ(planted(run + " --no-explain").exit_code, 1);
  const auto unexplained = load_case(folder.path() / "F1.original.json");
  ASSERT_TRUE(unexplained);
  std::filesystem::remove(folder.path() / "F1.original.json");
  EXPECT_THAT(planted(run + " --no-explain --no-shrink").output, Not(HasSubstr("shrunk")));
  EXPECT_EQ(*load_case(folder.path() / "F1.json"), *unexplained);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "F1.original.json"));
}

TEST(Shrink, WritesTheSmallestCaseAndExitsOne) {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  ASSERT_EQ(planted("run --suite random --cases 300 --backend pad-raw-zero --no-shrink --no-explain --out " + at(""))
                .exit_code,
            1);
  const std::string shrink = "shrink " + at("F1.json") + " --backend pad-raw-zero ";
  const auto result = planted(shrink);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("before    x ["), HasSubstr("1 output element"), HasSubstr("reduced   "),
                                   HasSubstr("minimal"), HasSubstr("worst     y["),
                                   HasSubstr("replay    qconform replay " + at("F1.shrunk.json"))));
  EXPECT_EQ(planted("replay " + at("F1.shrunk.json") + " --backend pad-raw-zero").exit_code, 1);
  EXPECT_EQ(planted(shrink + "-o " + at("as-model.onnx")).exit_code, 1);
  EXPECT_EQ(planted(shrink + "-o " + at("as-folder")).exit_code, 1);
  EXPECT_EQ(planted("replay " + at("as-model.onnx") + " --backend pad-raw-zero").exit_code, 1);
  EXPECT_EQ(planted("replay " + at("as-folder") + " --backend pad-raw-zero").exit_code, 1);
  EXPECT_THAT(planted(shrink + "--json").output, AllOf(HasSubstr("\"ending\": \"minimal\""), HasSubstr("\"replay\"")));
  EXPECT_THAT(planted(shrink + "--max-runs 2").output, HasSubstr("ended by --max-runs 2"));
  const auto passing = planted("shrink " + at("F1.json") + " --backend scalar -o " + at("none.json"));
  EXPECT_EQ(passing.exit_code, 0);
  EXPECT_THAT(passing.output, HasSubstr("nothing to shrink"));
  EXPECT_FALSE(std::filesystem::exists(at("none.json")));
}

// The planted kernels are kernels, not models.
TEST(Explain, NamesWhatIsWrongWithAKernel) {
  const TemporaryFolder folder;
  const auto at = [&](const std::string& name) { return folder.path() / name; };
  ASSERT_EQ(planted("run --suite random --cases 300 --backend pad-raw-zero --out " + at("").string()).exit_code, 1);
  const std::string explain = "explain " + at("F1.json").string() + " --backend ";
  const auto result = planted(explain + "pad-raw-zero");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("explained: pad-raw-zero\n"), HasSubstr("rule       C1"),
                                   HasSubstr("when         padded, x_zero_point != 0")));
  EXPECT_THAT(planted(explain + "pad-raw-zero --json").output,
              AllOf(HasSubstr("\"status\": \"explained\""), HasSubstr("\"signature\": \"pad-raw-zero\"")));
  const auto page = planted(explain + "pad-raw-zero --issue");
  EXPECT_EQ(page.exit_code, 1);
  EXPECT_THAT(
      page.output,
      AllOf(HasSubstr("# QLinearConv on pad-raw-zero"), HasSubstr("- a padded tap is raw 0, not the zero point"),
            HasSubstr("- C1: A padded tap holds the zero point of x"), HasSubstr("1. sum of (x - x_zero_point)"),
            HasSubstr("There is no program"), HasSubstr("base64 -d")));
  const auto passing = planted(explain + "scalar --issue");
  EXPECT_EQ(passing.exit_code, 0);
  EXPECT_THAT(passing.output, HasSubstr("nothing to explain"));
}

struct Misuse {
  const char* arguments;
  const char* says;
};

void PrintTo(const Misuse& misuse, std::ostream* out) {
  *out << "qconform " << misuse.arguments;
}

// Structure only: what a table holds, not how fast anything was.
TEST(Bench, PrintsATableAndMarksAWrongKernel) {
  const TemporaryFolder folder;
  const auto result =
      qconform("bench --backend scalar --against defect:pair-sat-i16 --layers '3x3 8->8 @6' --time 0.005 --out " +
               folder.path().string());
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("3x3 8->8 @6"), HasSubstr("wrong: "), HasSubstr("1 left out"), HasSubstr("GMAC/s")));
  std::ifstream markdown(folder.path() / "bench.md");
  const std::string text{std::istreambuf_iterator<char>(markdown), {}};
  EXPECT_THAT(text, AllOf(HasSubstr("| 3x3 8->8 @6 |"), HasSubstr("**wrong**")));
}

TEST(Bench, TakesTheLayersOfAModel) {
  const TemporaryFolder folder;
  const std::string cases = folder.path().string();
  ASSERT_EQ(qconform("export --suite random --cases 1 --seed 4 --format onnx -o " + cases).exit_code, 0);
  const auto file = std::filesystem::directory_iterator(cases)->path().string();
  const auto result =
      qconform("bench --backend scalar --layers 'model:" + file + "' --time 0.005 --json --out " + cases);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("qconform-bench"), HasSubstr("\"verdict\": \"pass\"")));
}

class WrongUse : public ::testing::TestWithParam<Misuse> {};

TEST_P(WrongUse, ExitsTwoAndNamesTheArgument) {
  const auto result = qconform(GetParam().arguments);
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, WrongUse,
    ::testing::Values(
        Misuse{"", "qconform --help"},
        Misuse{"walk",
               "no command \"walk\". There are run, fuzz, replay, shrink, explain, audit, identify, export, capture, "
               "model, qdq, "
               "report, bench, contract, cover, matrix, bisect, gate, list, doctor, completion"},
        Misuse{"run --backend nosuch", "\"nosuch\""}, Misuse{"run --suite nosuch", "\"nosuch\""},
        Misuse{"run --profile exact", "correctly-rounded"}, Misuse{"run --cases many", "--cases"},
        Misuse{"run --cases 9", "no number of cases can be chosen for conformance"},
        Misuse{"run --backend scalar@exact", "no word \"exact\". There are @correctly-rounded, @ort-f32"},
        Misuse{"run --backend scaler", "no backend \"scaler\"; did you mean scalar? This build"},
        Misuse{"run --backend plugin:" QCONFORM_PLUGINS "/exports_another.so", "exports no function qconform_backend"},
        Misuse{"run --backend plugn:./x.so", "no backend \"plugn\"; did you mean plugin?"},
        Misuse{"run --suite corups", "no suite and no file \"corups\"; did you mean corpus?"},
        Misuse{"runn", "no command \"runn\"; did you mean run?"},
        Misuse{"list librarys",
               "no command \"list librarys\"; did you mean libraries? There are backends, kernels, libraries, "},
        Misuse{"report sumary x", "no command \"report sumary\"; did you mean summary? There are summary, html, "},
        Misuse{"run --backend scalar:9", "no release 9 of scalar here; there is "},
        Misuse{"run --backend defect:half-away@ort-f23", "no word \"ort-f23\"; did you mean ort-f32?"},
        Misuse{"run --backend scalar@threads=2", "no key \"threads\""},
        Misuse{"run --backend process:true --cpu max", "a command chooses its processor itself"},
        Misuse{"run --suite onnx:/nonexistent", "/nonexistent"},
        Misuse{"run --suite model:/nonexistent.onnx", "/nonexistent.onnx"},
        Misuse{"replay /nonexistent.json --backend scalar", "/nonexistent.json"},
        Misuse{"replay /dev/null --backend scalar", "/dev/null"},
        Misuse{"shrink /nonexistent.json --backend scalar", "/nonexistent.json"},
        Misuse{"shrink x.json --backend scalar --max-seconds=-1", "--max-seconds: -1 is below 0"},
        Misuse{"run --cases 1.5", "--cases: expected a whole number, got \"1.5\""},
        Misuse{"run --seed 18446744073709551616", "--seed: 18446744073709551616 needs more than 64 bits"},
        Misuse{"run --timeout soon", "--timeout: expected a number, got \"soon\""},
        Misuse{"run --fail-fast 0", "--fail-fast: 0 is below 1, the least that is possible"},
        Misuse{"shrink x.json", "--backend"}, Misuse{"run --suite relations:nosuch", "nosuch"},
        Misuse{"export --suite random", "--out"}, Misuse{"export --suite random --format xml -o /tmp/x", "xml"},
        Misuse{"capture /nonexistent.onnx -o /tmp/x", "/nonexistent.onnx"}, Misuse{"capture x.onnx", "--out"},
        Misuse{"list", "subcommand"}, Misuse{"run --suite random --cases 1 --out /dev/null/x", "--out"},
        Misuse{"fuzz --backend scalar --for 5x", "--for"}, Misuse{"fuzz --backend scalar --for -1s", "--for"},
        Misuse{"fuzz --backend none --cases 1", "none"}, Misuse{"bench --backend scalar", "--layers"},
        Misuse{"bench --backend nosuch --layers '1x1 4->4 @3'", "\"nosuch\""},
        Misuse{"bench --backend scalar --layers resnet51", "resnet50"},
        Misuse{"bench --backend scalar --layers '3x3 8-8 @6'", "\"8-8\""},
        Misuse{"bench --backend scalar --layers '1x1 4->4 @3' --layout chwn", "--layout"},
        Misuse{"bench --backend scalar --layers '1x1 4->4 @3' --types s4s4", "--types"},
        Misuse{"bench --backend scalar --layers '1x1 4->4 @3' --x-zero-point -1", "--x-zero-point"},
        Misuse{"bench --backend scalar --layers '1x1 4->4 @3' --time 0", "--time"},
        Misuse{"bench --backend scalar --layers '1x1 4->4 @3' --threads 0", "--threads"}));

TEST(WrongUse, DamagedCaseFileIsExplained) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "damaged.json";
  std::ofstream(file) << R"({"format": "qconform-cases", "version": 1, "cases": [)";
  const auto result = qconform("run --suite " + file.string() + " --out " + folder.path().string());
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("damaged.json"));
}

// A newer opset may have changed the operator: what stands for it is said beside the verdicts.
TEST(NewerOpsets, AreJudgedAndSaid) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "newer.json").string();
  const Case right = LinearBuilder::dequantize().id("newer").version(40).x(make::uint8({2}, {3, 5})).build();
  ASSERT_TRUE(save_cases(file, std::span(&right, 1)));
  const char* const note =
      "note: 1 case has opset 40, newer than 28, the newest known: judged by DequantizeLinear 25\n";
  for (const std::string& command : {"run --out " + folder.path().string() + " --suite " + file, "replay " + file}) {
    const auto result = qconform(command + " --backend scalar");
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_THAT(result.output, HasSubstr(note));
    EXPECT_EQ(qconform(command + " --backend defect:vec4-tail").exit_code, 1) << command;
  }
  EXPECT_THAT(qconform("list operators").output, HasSubstr("up to 28"));
}

TEST(WrongUse, RefusesUnknownOperators) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "conv.json").string();
  const Case unknown = QLinearConvBuilder().id("float").op_type("Convolve").build();
  ASSERT_TRUE(save_cases(file, std::span(&unknown, 1)));
  const auto run = qconform("run --backend scalar --out " + folder.path().string() + " --suite " + file);
  EXPECT_THAT(run.output, AllOf(HasSubstr("0 cases"), HasSubstr("  skipped        1  unknown operator: Convolve\n")));
  for (const char* command : {"replay ", "shrink ", "explain "}) {
    const auto result = qconform(command + file + " --backend scalar");
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, HasSubstr("conv.json: op_type: expected QLinearConv, ConvInteger, QuantizeLinear or "
                                         "DequantizeLinear, got Convolve [rule operator]"));
  }
}

TEST(Help, EveryCommandHasAnExample) {
  EXPECT_EQ(qconform("--help").exit_code, 0);
  EXPECT_THAT(qconform("--version").output, HasSubstr("qconform 0."));
  for (const char* command : {"run", "replay", "shrink", "explain", "export", "bench", "list"}) {
    const auto result = qconform(std::string(command) + " --help");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.output, HasSubstr("example: qconform"));
  }
}

// An operator without a node in any drawn graph is one whose defects no suite finds.
TEST(List, NamesNodesOfEveryOperatorInDrawnGraphs) {
  const auto holes = nlohmann::json::parse(qconform("list holes --json --cases 6000").output);
  ASSERT_GT(holes.size(), 80U);
  for (const auto& one : holes) EXPECT_GT(one.at("nodes"), 0) << one.at("operator");
}

TEST(List, SaysWhatThereIs) {
  EXPECT_THAT(qconform("list kernels").output, HasSubstr("scalar"));
  EXPECT_THAT(qconform("list suites").output, HasSubstr("onnx:DIR"));
  EXPECT_THAT(qconform("list sweep").output, AllOf(HasSubstr("feasible triples"), HasSubstr("auto_pad excludes pads")));
  EXPECT_THAT(qconform("list sweep --json").output, HasSubstr("\"excluded_triples\""));
  EXPECT_THAT(qconform("list profiles").output, HasSubstr("ort-f32"));
  EXPECT_THAT(qconform("list relations").output, HasSubstr("batch-split"));
  // A rule that a message names can be looked up.
  EXPECT_THAT(qconform("list rules").output,
              AllOf(HasSubstr("C8 "), HasSubstr("D5 "), HasSubstr("Q1 "), HasSubstr("tie")));
  EXPECT_THAT(qconform("list operators").output, HasSubstr("ConvInteger"));
  EXPECT_THAT(qconform("list backends --json").output, HasSubstr("\"available\": true"));
  EXPECT_THAT(qconform("list backends").output,
              AllOf(HasSubstr("; @correctly-rounded, @ort-f32, @onnx-reference, @tflite, @tflite-single-rounding\n"),
                    HasSubstr("; @KEY=VALUE\n")));
  EXPECT_THAT(qconform("list backends plugin:" QCONFORM_PLUGINS "/row.so").output,
              HasSubstr("plugin row 1; channels-last, units"));
}

// Exported files of every form read back as the same cases.
TEST(Export, WritesWhatTheSuiteHolds) {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  const std::string suite = "export --suite random --cases 5 --seed 3 ";
  EXPECT_EQ(qconform(suite + "--format json -o " + at("json")).exit_code, 0);
  EXPECT_EQ(qconform(suite + "--format onnx -o " + at("onnx")).exit_code, 0);
  EXPECT_EQ(qconform(suite + "--format onnx-test -o " + at("folders")).exit_code, 0);
  const Case third = random_case(3, 3);
  const std::string stem = "000003-random-3-3";
  const auto from_json = load_case(folder.path() / "json" / (stem + ".json"));
  const auto from_model = read_case_model(folder.path() / "onnx" / (stem + ".onnx"));
  const auto from_folder = read_case_folder(folder.path() / "folders" / stem);
  ASSERT_TRUE(from_json && from_model && from_folder);
  EXPECT_EQ(*from_json, third);
  EXPECT_EQ(*from_model, third);
  EXPECT_EQ(from_folder->front(), third);
  const auto rerun = qconform("run --suite onnx:" + at("folders") + " --backend scalar --out " + at("out"));
  EXPECT_EQ(rerun.exit_code, 0) << rerun.output;
}

// The reference's answer lies in the sets that are written beside it.
TEST(Export, WritesTheRightValues) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "folders").string();
  ASSERT_EQ(qconform("export --suite random --cases 5 --seed 3 --format onnx-test --admissible -o " + out).exit_code,
            0);
  const std::filesystem::path data_set = folder.path() / "folders" / "000003-random-3-3" / "test_data_set_0";
  const auto sets = nlohmann::json::parse(*read_file(data_set / "admissible.json", 1 << 20));
  EXPECT_EQ(sets["format"], "qconform-admissible");
  EXPECT_EQ(sets["expectation"], "valid");
  const auto& output = sets["outputs"].at(0);
  EXPECT_EQ(output["name"], "y");
  const Case third = random_case(3, 3);
  const Expected expected = expect(third, {});
  ASSERT_TRUE(expected.output.has_value());
  EXPECT_EQ(output["type"], name_of(expected.output->type));
  EXPECT_EQ(output["shape"], expected.output->shape);
  ASSERT_EQ(output["elements"].size(), static_cast<std::size_t>(expected.output->elements()));
  EXPECT_FALSE(output["sets"].at(output["elements"].at(0).get<std::size_t>())["ranges"].empty());
  EXPECT_THAT(qconform("export --suite random --cases 1 --admissible --format json -o " + out).output,
              HasSubstr("--admissible: needs --format onnx-test, got json"));
}

}  // namespace
}  // namespace qconform::testing
