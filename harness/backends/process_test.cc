// Processes that answer rightly, and processes that do everything wrong: each told as what it is, at the right case.
#include "harness/backends/kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <ostream>
#include <thread>

#include "harness/backends/process_backend.h"
#include "harness/backends/select.h"
#include "harness/base/text.h"
#include "harness/suites/drawn.h"
#include "harness/suites/select.h"
#include "harness/tests/stand_ins.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::backend {
namespace {

using qconform::testing::expect_hostile_row;
using qconform::testing::Hostile;
using qconform::testing::kDevours;
using qconform::testing::kExits;
using qconform::testing::report_of;
using qconform::testing::Rows;
using qconform::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// For what is to run into it; everything else has time, also on a busy machine.
constexpr double kTimeout = 2;
constexpr double kPatience = 30;
constexpr std::int64_t kMemory = std::int64_t{128} << 20;

std::string child(const std::string& arguments) {
  return QCONFORM_PROCESS_CHILD " " + arguments;
}

Result<std::unique_ptr<Backend>> opened(const std::string& command, double timeout = kPatience) {
  return backend::select("process:" + command, RoundingProfile::correctly_rounded, {.limits = {timeout, kMemory}});
}

// All other cases are answered rightly, those after the hostile one by another process.
void expect_told(const Hostile& hostile, const std::string& command) {
  auto backend = opened(command, hostile.kind == VerdictKind::timed_out ? kTimeout : kPatience);
  ASSERT_TRUE(backend) << backend.error().text();
  expect_hostile_row(report_of(std::make_unique<Rows>(), std::move(*backend)), hostile);
}

std::string test_name(const ::testing::TestParamInfo<Hostile>& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class HostileProcess : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileProcess, IsReportedAtTheFailingCase) {
  expect_told(GetParam(), child(GetParam().name));
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileProcess,
    ::testing::Values(
        Hostile{"garbage", VerdictKind::broken_interface, "expected a message, got \"Traceback: no such", ""},
        Hostile{"hangs", VerdictKind::timed_out, "no answer within 2 s", ""}, kExits,
        Hostile{"exits-in-the-answer", VerdictKind::exited, "status 0", ""},
        Hostile{"segfaults", VerdictKind::crashed, "signal 11", "about to fail"}, kDevours,
        Hostile{"floods-stderr", VerdictKind::timed_out, "no answer within 2 s", "****"},
        Hostile{"huge", VerdictKind::broken_interface, "announces 4294967295 bytes", ""},
        Hostile{"closes-stdout", VerdictKind::broken_interface, "closed its stdout without an answer", ""},
        Hostile{"endless", VerdictKind::broken_interface, "wrote after its answer: \"****", ""},
        Hostile{"answers-twice", VerdictKind::broken_interface, "wrote after its answer: \"DONE", ""},
        Hostile{"wrong-number", VerdictKind::broken_interface, "answered case 10 where case 11 was asked", ""},
        Hostile{"no-tensor", VerdictKind::broken_interface, "its output is not a tensor", ""},
        Hostile{"done-at-the-plan", VerdictKind::broken_interface, "its answer to PLAN is none of TAKE", ""}),
    test_name);

class HostileCommand : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileCommand, IsReportedAtTheFailingCase) {
  expect_told(GetParam(), child(std::string(GetParam().name) + " - {}"));
}

INSTANTIATE_TEST_SUITE_P(All, HostileCommand,
                         ::testing::Values(Hostile{"hangs", VerdictKind::timed_out, "no answer within 2 s", ""}, kExits,
                                           Hostile{"segfaults", VerdictKind::crashed, "signal 11", "about to fail"},
                                           Hostile{"no-file", VerdictKind::unwritten, "left no file", ""},
                                           Hostile{"no-tensor", VerdictKind::broken_interface, "holds no tensor",
                                                   "computed"}),
                         test_name);

void expect_right(const std::string& command, std::uint64_t cases) {
  auto there = opened(command);
  ASSERT_TRUE(there) << there.error().text();
  const Report report = report_of(std::make_unique<RandomSuite>(5, cases), std::move(*there));
  const Report here = report_of(std::make_unique<RandomSuite>(5, cases),
                                std::move(*backend::select("scalar", RoundingProfile::correctly_rounded)));
  ASSERT_EQ(report.backends.size(), 1U);
  EXPECT_TRUE(report.conforms());
  EXPECT_GT(report.backends[0].count(VerdictKind::pass), cases / 2);
  for (const auto& [name, result] : here.backends[0].operators) {
    EXPECT_EQ(result.verdicts, report.backends[0].operators.at(name).verdicts) << name;
  }
}

TEST(Process, GivesTheAnswersOfTheSameKernelsInThisProcess) {
  expect_right(child("right"), 400);
}

TEST(Process, GivesTheSameAnswersByFolders) {
  expect_right(child("right - {}"), 25);
}

TEST(Process, MayDeclineByADescription) {
  auto rows = opened(child("plans"));
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_EQ((*rows)->info().version, "test child 1.0");
  EXPECT_THAT((*rows)->info().capabilities, ::testing::ElementsAre("plans", "units"));
  const Report right = report_of(std::make_unique<Rows>(), std::move(*rows));
  EXPECT_TRUE(right.conforms());
  EXPECT_EQ(right.backends[0].count(VerdictKind::unsupported), 0U);

  auto others = opened(child("plans"));
  ASSERT_TRUE(others) << others.error().text();
  const Report declined = report_of(std::make_unique<RandomSuite>(5, 100), std::move(*others));
  EXPECT_EQ(declined.backends[0].count(VerdictKind::broken_interface), 0U);
  EXPECT_GT(declined.backends[0].count(VerdictKind::unsupported), 50U);
}

Report report_on_graphs(const std::string& command, std::uint64_t cases) {
  auto backend = opened(command);
  EXPECT_TRUE(backend) << backend.error().text();
  return report_of(std::move(open_suite("graphs", {.seed = 1, .cases = cases})->front()), std::move(*backend));
}

// Some of these graphs have two outputs.
TEST(Process, GetsGraphsIfItTakesUnits) {
  for (const auto& [command, cases] : {std::pair(child("units"), 200U), std::pair(child("right - {}"), 40U)}) {
    const Report report = report_on_graphs(command, cases);
    EXPECT_TRUE(report.conforms()) << command;
    EXPECT_GT(report.backends[0].count(VerdictKind::pass), cases * 3 / 4) << command;
  }
  EXPECT_EQ(report_on_graphs(child("right"), 20).backends[0].count(VerdictKind::unsupported), 20U);
}

TEST(Process, LearnsWhatIsFedIfItAsks) {
  EXPECT_TRUE(report_on_graphs(child("fed-inputs"), 100).conforms());
  auto single = opened(child("fed-inputs"));
  ASSERT_TRUE(single) << single.error().text();
  EXPECT_THAT((*single)->info().capabilities, ::testing::ElementsAre("units", "fed-inputs"));
  const Report report = report_of(std::make_unique<RandomSuite>(5, 100), std::move(*single));
  EXPECT_TRUE(report.conforms());
  EXPECT_EQ(report.backends[0].count(VerdictKind::exited), 0U);
}

TEST(Process, EndsItsOutputsWithDone) {
  const Report report = report_on_graphs(child("parts-only"), 20);
  EXPECT_EQ(report.backends[0].count(VerdictKind::broken_interface), 20U);
}

// A count of outputs is the interface's, and no shape of an output.
TEST(Process, AnswersEveryOutput) {
  const Report report = report_on_graphs(child("first-output-only"), 200);
  EXPECT_GT(report.backends[0].count(VerdictKind::broken_interface), 0U);
  EXPECT_EQ(report.backends[0].count(VerdictKind::bad_shape), 0U);
}

TEST(Process, SaysWhatItPins) {
  auto backend = opened(child("pins"));
  ASSERT_TRUE(backend) << backend.error().text();
  EXPECT_THAT((*backend)->info().pinned, ::testing::ElementsAre("threads=1", "precision=float32"));
}

TEST(Process, MayAssumeValidNodes) {
  auto backend = opened(child("assumes-valid"));
  ASSERT_TRUE(backend) << backend.error().text();
  EXPECT_TRUE((*backend)->info().valid_only);
  const Report report = report_of(std::move(open_suite(QCONFORM_SOURCE_DIRECTORY "/corpus/conv_integer", {})->front()),
                                  std::move(*backend));
  EXPECT_GT(report.backends[0].count(VerdictKind::not_asked), 0U);
}

TEST(Process, MayWriteMuchToStderr) {
  auto backend = opened(child("speaks-much"));
  ASSERT_TRUE(backend) << backend.error().text();
  EXPECT_EQ((*backend)->info().version, "test child 1.0");
  EXPECT_TRUE(report_of(std::make_unique<Rows>(), std::move(*backend)).conforms());
}

TEST(Process, RefusesCommandsThatDoNotSpeakTheProtocol) {
  EXPECT_THAT(opened("").error().text(), HasSubstr("needs a command"));
  EXPECT_THAT(opened("true; exit 5").error().text(), HasSubstr("ended before it answered, with exit code 5"));
  EXPECT_THAT(opened("/nowhere/at-all").error().text(), HasSubstr("with exit code 127; its last lines: "));
  EXPECT_THAT(opened("echo hello; sleep 60").error().text(), HasSubstr("expected a message, got \"hello\""));
  EXPECT_THAT(opened(child("speaks-another-version")).error().text(),
              HasSubstr("speaks version 2 of the protocol, expected 1"));
}

// The number that the daemon noted, once it is there.
pid_t noted_process(const std::filesystem::path& file) {
  pid_t process = 0;
  for (int i = 0; i < 1000 && process == 0; ++i) {
    std::ifstream(file) >> process;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return process;
}

bool is_gone(pid_t process) {
  for (int i = 0; i < 500; ++i) {
    if (kill(process, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Process, LeavesNothingBehindAfterATimeout) {
  const TemporaryFolder folder;
  const std::string note = (folder.path() / "daemon").string();
  expect_told({"", VerdictKind::timed_out, "", ""}, child("leaves-a-daemon " + note));
  const pid_t daemon = noted_process(note);
  ASSERT_GT(daemon, 0);
  EXPECT_TRUE(is_gone(daemon));
}

TEST(Process, LeavesNothingBehindWhenQconformIsKilled) {
  const TemporaryFolder folder;
  const std::string note = (folder.path() / "daemon").string();
  const pid_t victim = fork();
  if (victim == 0) {
    auto backend = opened(child("leaves-a-daemon " + note));
    const Case hostile = Rows::row(Rows::kHostile);
    if (backend) (*backend)->worker()->start(hostile);
    for (;;) (void)pause();
  }
  const pid_t daemon = noted_process(note);
  EXPECT_GT(daemon, 0);
  (void)kill(victim, SIGKILL);
  (void)waitpid(victim, nullptr, 0);
  EXPECT_TRUE(daemon <= 0 || is_gone(daemon));
}

TEST(Process, FoldersAreRemoved) {
  const TemporaryFolder folder;
  ASSERT_EQ(setenv("TMPDIR", folder.path().c_str(), 1), 0);
  expect_told({"", VerdictKind::exited, "", ""}, child("exits - {}"));
  EXPECT_EQ(unsetenv("TMPDIR"), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kExamples = QCONFORM_SOURCE_DIRECTORY "/harness/examples/";

TEST(Example, InPythonConforms) {
  if (std::system((std::string(kPython) + " -c 'import onnx' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << kPython << " has no package onnx: scripts/install-packages test";
  }
  auto backend = opened(std::string(kPython) + " " + kExamples + "dequantize.py");
  ASSERT_TRUE(backend) << backend.error().text();
  EXPECT_EQ((*backend)->info().version, "dequantize.py 1.0");
  const Report report = report_of(std::make_unique<RandomSuite>(3, 600), std::move(*backend));
  EXPECT_TRUE(report.conforms());
  EXPECT_GT(report.backends[0].operators.at("DequantizeLinear").count(VerdictKind::pass), 5U);
}

// The example either refuses convolutions or gets them right. docs/bugs-found.md lists what it computes wrongly.
TEST(Example, InNodeRunsOnnxRuntimeInWebAssembly) {
  if (!std::filesystem::exists(QCONFORM_SOURCE_DIRECTORY "/build/onnxruntime-web/VERSION") ||
      std::system("node --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "needs node, and ONNX Runtime for WebAssembly: scripts/get-onnxruntime --web";
  }
  auto backend = opened("node " + (kExamples + std::string("onnxruntime-web.mjs")));
  ASSERT_TRUE(backend) << backend.error().text();
  EXPECT_THAT((*backend)->info().version, HasSubstr("onnxruntime-web 1."));
  const Report report = report_of(std::make_unique<RandomSuite>(3, 400), std::move(*backend));
  for (const char* convolution : {"QLinearConv", "ConvInteger"}) {
    const auto& result = report.backends[0].operators.at(convolution);
    EXPECT_GT(result.count(VerdictKind::pass), 10U);
    EXPECT_EQ(result.count(VerdictKind::wrong) + result.count(VerdictKind::bad_shape), 0U);
  }
  EXPECT_EQ(report.backends[0].count(VerdictKind::broken_interface) + report.backends[0].count(VerdictKind::timed_out),
            0U);
}

TEST(ProcessMessages, ComeBackAsTheyWere) {
  std::string bytes =
      message_header(MessageKind::done, 0x01020304, 3) + "abc" + message_header(MessageKind::rejected, 7, 0) + "HE";
  const auto first = take_message(bytes);
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->kind, MessageKind::done);
  EXPECT_EQ((*first)->number, 0x01020304U);
  EXPECT_EQ((*first)->payload, "abc");
  const auto second = take_message(bytes);
  ASSERT_TRUE(second && *second);
  EXPECT_EQ((*second)->kind, MessageKind::rejected);
  EXPECT_THAT((*second)->payload, IsEmpty());
  const auto begun = take_message(bytes);
  ASSERT_TRUE(begun);
  EXPECT_FALSE(*begun) << "not there yet";
  bytes += "r";
  EXPECT_FALSE(take_message(bytes)) << "HELr is the beginning of none";
}

TEST(ShellWord, IsOneWordForAShell) {
  EXPECT_EQ(shell_word("process:./mine.py"), "process:./mine.py");
  EXPECT_EQ(shell_word("python3 a.py"), "'python3 a.py'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace qconform::backend
