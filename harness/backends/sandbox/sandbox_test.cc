// Libraries that do everything wrong that a backend can, each told as what it is, at the right case.
#include "harness/backends/sandbox/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <tuple>

#include "harness/backends/plugin.h"
#include "harness/backends/sandbox/channel.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/base/stopwatch.h"
#include "harness/engine/run_suites.h"
#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/drawn.h"
#include "harness/suites/select.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/linear_builder.h"
#include "harness/tests/stand_ins.h"

namespace qconform {
namespace {

#ifdef QCONFORM_EMULATED
constexpr bool kEmulated = true;
#else
constexpr bool kEmulated = false;
#endif
using ::testing::ElementsAre;
using testing::expect_hostile_row;
using ::testing::HasSubstr;
using testing::Hostile;
using testing::kDevours;
using testing::kExits;
using testing::report_of;
using testing::Rows;

constexpr double kTimeout = kEmulated ? 20 : 3;
constexpr std::int64_t kMemory = std::int64_t{128} << 20;

std::string library(const std::string& name) {
  return QCONFORM_PLUGINS "/" + name + ".so";
}

using Guard = SandboxLimits::Guard;

Result<std::unique_ptr<Backend>> open_sandboxed(const std::string& backend, Guard guard = Guard::sampled,
                                                int threads = 0) {
  return backend::select(
      backend, RoundingProfile::correctly_rounded,
      {.which = backend::SandboxPolicy::Which::all,
       .limits = {kTimeout, kMemory, guard, kEmulated ? CaseChannel::kEmulatedSlotBytes : slot_bytes_here()},
       .threads = threads});
}

class HostileLibrary : public ::testing::TestWithParam<std::tuple<Hostile, Guard>> {};

TEST_P(HostileLibrary, IsReportedAtTheFailingCase) {
  const auto& [hostile, guard] = GetParam();
  const auto start = std::chrono::steady_clock::now();
  auto backend = open_sandboxed("plugin:" + library(hostile.name), guard);
  ASSERT_TRUE(backend) << backend.error().text();
  const bool is_image = std::string_view(hostile.name).starts_with("pixels");
  const Report report = report_of(std::make_unique<Rows>(is_image ? Rows::image : Rows::row), std::move(*backend));
  const double seconds = seconds_since(start);

  expect_hostile_row(report, hostile);
  EXPECT_LT(seconds, kEmulated ? 200 : 20);
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileLibrary,
    ::testing::Combine(
        ::testing::Values(
            Hostile{"segfaults", VerdictKind::crashed, "signal 11", "about to write to address 64"},
            Hostile{"loops", VerdictKind::timed_out, kEmulated ? "no answer within 20 s" : "no answer within 3 s", ""},
            kExits, kDevours, Hostile{"reads_past", VerdictKind::read_out_of_bounds, "read 1 byte past w", ""},
            Hostile{"writes_before", VerdictKind::out_of_bounds, "wrote 1 byte before the output", ""},
            Hostile{"unwritten", VerdictKind::unwritten, "4 bytes of the output not written, first of element 10", ""},
            Hostile{"changes_input", VerdictKind::changed_input, "changed its input x at byte 0", ""},
            Hostile{"random_answers", VerdictKind::nondeterministic, "element 0 differs", ""},
            Hostile{"flushes", VerdictKind::changed_float_mode, "flush-to-zero", ""}),
        ::testing::Values(Guard::sampled, Guard::full)),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + (std::get<1>(test.param) == Guard::full ? "_full" : "");
    });

TEST(Sandbox, TellsWhereALibraryCrashed) {
  auto backend = open_sandboxed("plugin:" + library("segfaults"));
  ASSERT_TRUE(backend) << backend.error().text();
  const Report report = report_of(std::make_unique<Rows>(Rows::row), std::move(*backend));
  ASSERT_EQ(report.findings.size(), 1U);
  // An emulator's stack ends elsewhere.
  EXPECT_THAT(report.findings[0].signature,
              HasSubstr(kEmulated ? "crashed:SIGSEGV" : "crashed:SIGSEGV at a null pointer in segfaults.so+0x"));
}

TEST(CrashPlace, IsReadAsInTheSource) {
  EXPECT_EQ(readable_crash_place("libx.so.1: _ZN2cv3dnn1fEi"), "libx.so.1: cv::dnn::f");
  EXPECT_EQ(readable_crash_place("libx.so.1: _ZN2cv12_GLOBAL__N_11fEi"), "libx.so.1: cv::(anonymous namespace)::f");
  EXPECT_EQ(readable_crash_place("libx.so.1: qc_run"), "libx.so.1: qc_run");
  EXPECT_EQ(readable_crash_place("libx.so.1+0x1234"), "libx.so.1+0x1234");
  EXPECT_EQ(readable_crash_place("generated code"), "generated code");
}

// Their first answer is right.
INSTANTIATE_TEST_SUITE_P(
    ThatRemember, HostileLibrary,
    ::testing::Combine(::testing::Values(Hostile{"repacks", VerdictKind::depends_on_earlier_runs,
                                                 "element 0 differs when the prepared node is run again", ""},
                                         Hostile{"address_cache", VerdictKind::depends_on_earlier_runs,
                                                 "element 0 differs when the inputs lie where another node's lay", ""}),
                       ::testing::Values(Guard::full)),
    [](const auto& test) { return std::string(std::get<0>(test.param).name); });

TEST(Worker, RunsACaseOnceForWhoAsksWhetherItIsTaken) {
  auto backend = open_sandboxed("plugin:" + library("repacks"), Guard::full);
  ASSERT_TRUE(backend) << backend.error().text();
  Worker& worker = *(*backend)->worker();
  const Case test_case = Rows::row(Rows::kHostile);
  EXPECT_TRUE(std::holds_alternative<outcome::Produced>(worker.ask(test_case)));
  EXPECT_TRUE(std::holds_alternative<outcome::DependsOnEarlierRuns>(worker.examine(test_case)));
}

// Chance is no memory: over many runs the rows that differ are never said to depend on earlier ones.
TEST(GuardedRun, RareRandomnessIsNotReportedAsMemoryOfEarlierRuns) {
  std::uint64_t random = 0;
  for (int i = 0; i < 20; ++i) {
    auto backend = open_sandboxed("plugin:" + library("seldom_random"), Guard::full);
    ASSERT_TRUE(backend) << backend.error().text();
    std::vector<std::unique_ptr<Suite>> suites;
    for (int k = 0; k <= i; ++k) suites.push_back(std::make_unique<Rows>());
    std::vector<std::unique_ptr<Backend>> backends;
    backends.push_back(std::move(*backend));
    Report report;
    ASSERT_TRUE(run_suites(suites, backends, {}, report));
    random += report.backends[0].count(VerdictKind::nondeterministic);
    EXPECT_EQ(report.backends[0].count(VerdictKind::depends_on_earlier_runs), 0U);
  }
  EXPECT_GT(random, 0U);
}

// Rows of 13 in its scratch memory are right as long as nobody else computes one.
TEST(ThreadsCheck, TellsALibraryWhoseScratchMemoryIsShared) {
  const std::string name = "plugin:" + library("static_scratch");
  auto alone = open_sandboxed(name);
  ASSERT_TRUE(alone) << alone.error().text();
  EXPECT_TRUE(report_of(std::make_unique<Rows>(), std::move(*alone)).conforms());

  auto checked = open_sandboxed(name, Guard::sampled, 4);
  ASSERT_TRUE(checked) << checked.error().text();
  const Report report = report_of(std::make_unique<Rows>(), std::move(*checked));
  EXPECT_EQ(report.backends[0].count(VerdictKind::thread_dependent), 1U);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].example.id, "row-13");
  EXPECT_THAT(report.findings[0].verdict.detail, HasSubstr("of 4 threads at once, thread "));
}

TEST(ThreadsCheck, BlamesThreadsOnlyForWhatOneThreadDoesNotShow) {
  auto checked = open_sandboxed("plugin:" + library("repacks"), Guard::sampled, 4);
  ASSERT_TRUE(checked) << checked.error().text();
  const Report report = report_of(std::make_unique<Rows>(), std::move(*checked));
  EXPECT_EQ(report.backends[0].count(VerdictKind::thread_dependent), 0U);
  EXPECT_EQ(report.backends[0].count(VerdictKind::depends_on_earlier_runs), 1U);
}

TEST(ThreadsCheck, KernelsWithoutSharedMemoryConform) {
  for (const auto which : {backend::SandboxPolicy::Which::all, backend::SandboxPolicy::Which::none}) {
    auto backend =
        backend::select("scalar", RoundingProfile::correctly_rounded, {.which = which, .limits = {}, .threads = 3});
    ASSERT_TRUE(backend) << backend.error().text();
    EXPECT_TRUE(report_of(std::make_unique<RandomSuite>(5, 60), std::move(*backend)).conforms());
  }
}

TEST(ThreadsCheck, ABackendForOneThreadIsAnError) {
  const auto opened = open_sandboxed("defect:pads-order", Guard::sampled, 4);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().text(), HasSubstr("runs one case from one thread at a time"));
}

TEST(Sandbox, GivesTheAnswersOfTheSameBackendInThisProcess) {
  auto here = backend::select("scalar", RoundingProfile::correctly_rounded);
  auto there = open_sandboxed("scalar");
  ASSERT_TRUE(here && there);
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<RandomSuite>(5, 500));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::move(*here));
  backends.push_back(std::move(*there));
  Report report;
  ASSERT_TRUE(run_suites(suites, backends, {}, report));
  EXPECT_TRUE(report.conforms());
  for (const auto& [name, result] : report.backends[0].operators) {
    EXPECT_EQ(result.verdicts, report.backends[1].operators[name].verdicts) << name;
  }
}

// The page links the examples and says how long they are.
TEST(Plugin, ThePageCountsTheLinesOfItsExamples) {
  const std::filesystem::path root = QCONFORM_SOURCE_DIRECTORY;
  const auto page = read_file(root / "docs/adding-a-backend.md", 1 << 20);
  ASSERT_TRUE(page);
  for (const char* file : {"harness/tests/plugins/dequantize.c", "harness/examples/convolution.cc"}) {
    const auto example = read_file(root / file, 1 << 20);
    ASSERT_TRUE(example) << file;
    const auto lines = std::count(example->begin(), example->end(), '\n');
    EXPECT_LT(lines, 60) << file;
    EXPECT_THAT(*page, HasSubstr("(../" + std::string(file) + ")"));
    EXPECT_THAT(*page, HasSubstr("backend of " + std::to_string(lines) + " lines")) << file;
  }
}

void judge_by_plugin(const std::string& name, Report& report) {
  auto backend = open_sandboxed("plugin:" + library(name));
  ASSERT_TRUE(backend) << backend.error().text();
  std::vector<std::unique_ptr<Suite>> suites = std::move(*open_suite("corpus", {}));
  suites.push_back(std::make_unique<RandomSuite>(4, 1000));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::move(*backend));
  ASSERT_TRUE(run_suites(suites, backends, {}, report));
}

// Tests how qconform/node.hpp reads the nodes of the corpus and random ones: it rejects all that are out of contract,
// and no valid one.
TEST(NodeHeader, ReadsEveryConvolution) {
  Report report;
  judge_by_plugin("any_convolution", report);
  EXPECT_TRUE(report.conforms());
  for (const char* name : {"QLinearConv", "ConvInteger"}) {
    const auto& result = report.backends[0].operators.at(name);
    EXPECT_GT(result.count(VerdictKind::pass), 0U) << name;
    EXPECT_EQ(result.count(VerdictKind::unsupported), 0U) << name;
  }
}

TEST(NodeHeader, ReadsLinearNodesOfEveryVersion) {
  Report report;
  judge_by_plugin("any_linear", report);
  EXPECT_TRUE(report.conforms());
  for (const char* name : {"QuantizeLinear", "DequantizeLinear"}) {
    EXPECT_GT(report.backends[0].operators.at(name).count(VerdictKind::pass), 0U) << name;
  }
  for (const auto& [name, result] : report.backends[0].operators) {
    if (operator_of_subject(name)->judges_graphs) continue;
    for (const auto& [reason, count] : result.unsupported_reasons) {
      EXPECT_THAT(reason, HasSubstr(": only ")) << name << ": a valid node is declined by the kernel alone, " << count;
    }
  }
}

TEST(NodeHeader, NamesTheFieldAndWhatWasExpected) {
  auto backend = open_sandboxed("plugin:" + library("any_convolution"));
  ASSERT_TRUE(backend) << backend.error().text();
  const auto reason_of = [&](const Case& test_case) {
    const Outcome outcome = (*backend)->worker()->examine(test_case);
    const auto* rejected = std::get_if<outcome::Rejected>(&outcome);
    return rejected == nullptr ? std::string("none") : rejected->reason;
  };
  const auto row = [] {
    return QLinearConvBuilder().x(make::uint8({1, 1, 1, 3}, {3, 5, 7})).w(make::int8({1, 1, 1, 2}, {1, 2}));
  };
  EXPECT_EQ(reason_of(row().build()), "none");
  EXPECT_EQ(reason_of(row().input(1, make::float32({1, 1}, {1})).input(4, make::float32({1, 1, 1}, {1})).build()),
            "none");
  EXPECT_EQ(reason_of(row().input(1, make::float32({1, 2}, {1, 1})).build()),
            "x_scale: expected a scalar, got shape [1, 2]");
  EXPECT_EQ(reason_of(row().attribute("strides", std::vector<std::int64_t>{1, 0}).build()),
            "strides: expected values of at least 1, got [1, 0]");
  EXPECT_EQ(reason_of(row().attribute("group", std::int64_t{2}).build()),
            "w: expected shape[1] * group = x.shape[1], got [1, 1, 1, 2] and group 2");
  EXPECT_EQ(reason_of(row().attribute("spare", std::int64_t{2}).build()),
            "spare: no attribute of this version of the operator");
  EXPECT_EQ(reason_of(row().y_scale(-1.0F).build()), "y_scale: expected a positive number, got -1.000000");
  EXPECT_EQ(reason_of(row().input(8, make::int32({2}, {1, 2})).build()),
            "B: expected one value for each output channel, got shape [2]");
  EXPECT_EQ(reason_of(row().input(3, std::nullopt).build()), "w: required input is missing");
}

TEST(Plugin, AStatusWithoutAMeaningIsABrokenInterface) {
  for (int status = -1000; status <= 1000; ++status) {
    backend::PluginReason reason;
    const auto refusal = backend::refusal_of(status, reason);
    const bool has_meaning = status == QC_OK || status == QC_UNSUPPORTED || status == QC_REJECTED;
    EXPECT_EQ(refusal && std::holds_alternative<outcome::BrokenInterface>(*refusal), !has_meaning) << status;
  }
}

TEST(Plugin, TheExampleConforms) {
  auto backend = open_sandboxed("plugin:" + library("dequantize"), Guard::full);
  ASSERT_TRUE(backend) << backend.error().text();
  const Report report = report_of(std::make_unique<RandomSuite>(3, 600), std::move(*backend));
  EXPECT_TRUE(report.conforms());
  EXPECT_GT(report.backends[0].operators.at("DequantizeLinear").count(VerdictKind::pass), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    OfTheInterface, HostileLibrary,
    ::testing::Combine(::testing::Values(Hostile{"scratch_past", VerdictKind::out_of_bounds,
                                                 "wrote 1 byte past the scratch memory", ""},
                                         Hostile{"scratch_before", VerdictKind::out_of_bounds,
                                                 "wrote 1 byte before the scratch memory", ""},
                                         Hostile{"unknown_status", VerdictKind::broken_interface,
                                                 "status -1000000, which qconform/backend.h does not define", ""},
                                         Hostile{"bad_scratch", VerdictKind::broken_interface,
                                                 "scratch_alignment is 3, expected a power of two", ""}),
                       ::testing::Values(Guard::sampled, Guard::full)),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + (std::get<1>(test.param) == Guard::full ? "_full" : "");
    });

// Tensors that a library gets with the channels last lie between guards in that form.
INSTANTIATE_TEST_SUITE_P(
    WithChannelsLast, HostileLibrary,
    ::testing::Combine(
        ::testing::Values(Hostile{"pixels_past_x", VerdictKind::read_out_of_bounds, "read 1 byte past x", ""},
                          Hostile{"pixels_past_y", VerdictKind::out_of_bounds, "wrote 1 byte past the output", ""},
                          Hostile{"pixels_past_scratch", VerdictKind::out_of_bounds,
                                  "wrote 1 byte past the scratch memory", ""},
                          Hostile{"pixels_change_x", VerdictKind::changed_input,
                                  "changed its input x (in the form that the library takes) at byte 3", ""}),
        ::testing::Values(Guard::sampled, Guard::full)),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + (std::get<1>(test.param) == Guard::full ? "_full" : "");
    });

// These libraries answer right to the x of the case.
INSTANTIATE_TEST_SUITE_P(
    ThatKeepX, HostileLibrary,
    ::testing::Combine(
        ::testing::Values(Hostile{"keeps_x", VerdictKind::depends_on_earlier_runs,
                                  "element 0 differs when the prepared node is run with another x", ""},
                          Hostile{"keeps_first_x", VerdictKind::depends_on_earlier_runs,
                                  "gives the first answer again when the prepared node is run with another x", ""}),
        ::testing::Values(Guard::full)),
    [](const auto& test) { return std::string(std::get<0>(test.param).name); });

// The first answer again is no memory where a new process gives it too: the backend is wrong on the other x by itself.
TEST(Sandbox, AWrongAnswerThatANewProcessGivesTooIsNoMemoryOfEarlierRuns) {
  auto backend = open_sandboxed("plugin:" + library("constant_x"), Guard::full);
  ASSERT_TRUE(backend) << backend.error().text();
  const Report report = report_of(std::make_unique<Rows>(), std::move(*backend));
  EXPECT_EQ(report.backends[0].count(VerdictKind::depends_on_earlier_runs), 0U);
  EXPECT_EQ(report.backends[0].count(VerdictKind::wrong), 1U);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(name_of(report.findings[0].kind), name_of(VerdictKind::wrong));
  EXPECT_EQ(report.findings[0].example.id, "row-13/another-x") << "it fails by itself";
}

// One that says that it keeps its inputs is given no others.
TEST(Plugin, ConformsOnRows) {
  for (const char* name : {"row", "larger", "fixed_x"}) {
    for (const int threads : {0, 4}) {
      auto backend = open_sandboxed("plugin:" + library(name), Guard::full, threads);
      ASSERT_TRUE(backend) << backend.error().text();
      const Report report = report_of(std::make_unique<Rows>(), std::move(*backend));
      EXPECT_TRUE(report.conforms()) << name;
      EXPECT_EQ(report.backends[0].count(VerdictKind::unsupported), 0U) << name;
    }
  }
}

TEST(Plugin, ConformsWithChannelsLast) {
  for (const int threads : {0, 2}) {
    auto backend = open_sandboxed("plugin:" + library("pixels"), Guard::full, threads);
    ASSERT_TRUE(backend) << backend.error().text();
    EXPECT_THAT((*backend)->info().capabilities, ElementsAre("needs-channels-last"));
    const Report report = report_of(std::make_unique<Rows>(Rows::image), std::move(*backend));
    EXPECT_TRUE(report.conforms());
    EXPECT_EQ(report.backends[0].count(VerdictKind::unsupported), 0U);
  }
}

// As benchmarks run it: y stays as the library lays it, until somebody looks.
TEST(Plugin, RunsRepeatedlyWithChannelsLast) {
  auto backend =
      backend::select("plugin:" + library("pixels"), RoundingProfile::correctly_rounded,
                      {.which = backend::SandboxPolicy::Which::none, .limits = {}, .threads = 0, .arm64_program = {}});
  ASSERT_TRUE(backend) << backend.error().text();
  const Case image = Rows::image(7);
  auto prepared = (*backend)->prepare_repeated(image, {});
  ASSERT_TRUE(prepared && std::holds_alternative<std::unique_ptr<RepeatedRun>>(*prepared));
  RepeatedRun& run = *std::get<std::unique_ptr<RepeatedRun>>(*prepared);
  EXPECT_EQ(run.setting().layout, Layout::channels_last);
  for (int i = 0; i < 2; ++i) {
    run.run();
    run.run();
    EXPECT_EQ(judge(expect(image, Policy{}), run.outcome()).kind, VerdictKind::pass);
    EXPECT_EQ(judge(expect(image, Policy{}), run.outcome()).kind, VerdictKind::pass) << "it is turned round once";
  }
}

// Nodes out of contract have tensors that cannot be turned round.
TEST(Plugin, GetsWrongNodesOfAnyShapeWithChannelsLast) {
  auto backend = open_sandboxed("plugin:" + library("pixels"), Guard::full);
  ASSERT_TRUE(backend) << backend.error().text();
  const Report report = report_of(std::move(open_suite("corpus", {})->front()), std::move(*backend));
  EXPECT_EQ(report.backends[0].count(VerdictKind::crashed), 0U);
  EXPECT_GT(report.backends[0].count(VerdictKind::pass), 0U);
}

TEST(Plugin, SaysWhatItCan) {
  const auto info_of = [](const char* name) { return (*open_sandboxed("plugin:" + library(name)))->info(); };
  EXPECT_THAT(info_of("row").capabilities, ElementsAre("channels-last", "units"));
  EXPECT_EQ(info_of("row").version, "row 1");
  EXPECT_TRUE(info_of("row").takes_other_inputs);
  EXPECT_FALSE(info_of("row").valid_only);
  EXPECT_THAT(info_of("fixed_x").capabilities, ElementsAre("same-inputs"));
  EXPECT_FALSE(info_of("fixed_x").takes_other_inputs);
}

TEST(Plugin, WithASwitchThatNoCommandLineCanHaveDoesNotOpen) {
  const auto opened = open_sandboxed("plugin:" + library("bad_switch"));
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().text(), HasSubstr("its switch 1 of 1 has no key and value of letters"));
}

constexpr std::uint64_t kGraphs = kEmulated ? 60 : 3000;  // the plugin takes few of them

std::uint64_t count_on_graphs(const char* plugin, VerdictKind kind) {
  auto backend = open_sandboxed("plugin:" + library(plugin), Guard::full);
  auto all = open_suite("graphs", {.seed = 1, .cases = kGraphs});
  const Report report = report_of(std::move(all->front()), std::move(*backend));
  for (const Finding& finding : report.findings) {
    ADD_FAILURE() << plugin << ": " << finding.signature << " on " << finding.example.id;
  }
  return report.backends[0].count(kind);
}

TEST(Plugin, ComputesTheUnitsThatItTakes) {
  EXPECT_GT(count_on_graphs("unit", VerdictKind::pass), kEmulated ? 0U : 2U);
}

TEST(Plugin, GetsNoGraphWithoutSayingThatItTakesUnits) {
  EXPECT_EQ(count_on_graphs("dequantize", VerdictKind::unsupported), kGraphs);
}

TEST(Plugin, ThatAssumesValidNodesIsSentNoOthers) {
  auto backend = open_sandboxed("plugin:" + library("assumes_valid"));
  ASSERT_TRUE(backend) << backend.error().text();
  EXPECT_TRUE((*backend)->info().valid_only);
  const Report report = report_of(std::move(open_suite("corpus", {})->front()), std::move(*backend));
  EXPECT_EQ(report.backends[0].count(VerdictKind::exited), 0U);
  EXPECT_GT(report.backends[0].count(VerdictKind::not_asked), 0U);
}

// Neither x nor w is there, parameters are: the library ends its process otherwise.
TEST(Plugin, DeclinesByADescription) {
  auto backend = open_sandboxed("plugin:" + library("declines_by_parameter"));
  ASSERT_TRUE(backend) << backend.error().text();
  const auto reason_of = [&](const Case& test_case) {
    const Outcome outcome = (*backend)->worker()->examine(test_case);
    const auto* declined = std::get_if<outcome::Unsupported>(&outcome);
    return declined == nullptr ? std::string("none") : declined->reason;
  };
  const auto dequantize = [] { return LinearBuilder::dequantize().x(make::uint8({2}, {3, 5})); };
  EXPECT_EQ(reason_of(Rows::row(3)), "only DequantizeLinear");
  EXPECT_EQ(reason_of(dequantize().zero_point(make::uint8({}, {3})).build()), "zero point is 3");
  EXPECT_EQ(reason_of(dequantize().zero_point(make::uint8({}, {4})).build()), "zero point is not 3");
}

TEST(Plugin, TakesArgumentsAndRefusesThoseThatItDoesNotKnow) {
  const std::string name = "plugin:" + library("arguments");
  auto backend = open_sandboxed(name + "@reason=\"too, warm\"");
  ASSERT_TRUE(backend) << backend.error().text();
  EXPECT_EQ((*backend)->info().name, "arguments.so@reason=\"too, warm\"");
  EXPECT_EQ((*backend)->info().specification, name + "@reason=\"too, warm\"");
  const Outcome outcome = (*backend)->worker()->examine(Rows::row(3));
  const auto* declined = std::get_if<outcome::Unsupported>(&outcome);
  ASSERT_NE(declined, nullptr);
  EXPECT_EQ(declined->reason, "too, warm");
  EXPECT_THAT(open_sandboxed(name + "@threads=2").error().text(),
              HasSubstr("arguments.so: does not open: no argument threads, only reason"));
  EXPECT_THAT(open_sandboxed("plugin:" + library("row") + "@a=1").error().text(),
              HasSubstr("takes no arguments, got a"));
}

TEST(Plugin, WithoutTheInterfaceIsAnError) {
  EXPECT_THAT(open_sandboxed("plugin:" + library("exports_another")).error().text(),
              HasSubstr("exports_another.so: exports no function qconform_backend; with qconform/node.hpp"));
  EXPECT_THAT(open_sandboxed("plugin:" + library("not_here")).error().text(),
              HasSubstr("not_here.so: its qconform_backend returns a null pointer: it cannot work here"));
}

TEST(Plugin, ThatEndsBeforeRunIsAnError) {
  EXPECT_THAT(open_sandboxed("plugin:" + library("smaller")).error().text(), HasSubstr("bytes has no function run"));
}

TEST(Sandbox, RefusesFilesThatAreNotLibraries) {
  EXPECT_THAT(open_sandboxed("plugin:" + library("missing")).error().text(), HasSubstr("missing.so"));
  EXPECT_THAT(open_sandboxed("plugin:libm.so.6").error().text(), HasSubstr("libm.so.6"));
  EXPECT_THAT(open_sandboxed("plugin:/dev/null").error().text(), HasSubstr("/dev/null"));
}

TEST(Sandbox, ReportsABackendThatEndsWhileItOpens) {
  const auto opened =
      open_in_sandbox([]() -> Result<std::unique_ptr<Backend>> { std::abort(); }, "mine", {kTimeout, kMemory});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().text(), HasSubstr("mine: ended while it was opened"));
}

TEST(Message, CasesAndOutcomesComeBackAsTheyWere) {
  Case back;
  for (std::uint64_t index = 0; index < 200; ++index) {
    const Case test_case = random_case(11, index);
    std::vector<std::byte> bytes(encoded_size(test_case));
    encode(test_case, bytes);
    // Into the memory of the case before.
    ASSERT_TRUE(decode_case(bytes, back));
    EXPECT_EQ(digest_of(back), digest_of(test_case));
    EXPECT_EQ(back.inputs, test_case.inputs);
    EXPECT_EQ(back.node().attributes, test_case.node().attributes);
    // Cut short, it is none; that is noticed without reading beyond the end.
    for (std::size_t size = 0; size < std::min<std::size_t>(bytes.size(), 64); ++size) {
      Case cut;
      EXPECT_FALSE(decode_case(std::span(bytes).first(size), cut));
    }
  }
  const Outcome outcome = outcome::ReadOutOfBounds{"w", outcome::WroteOutOfBounds::Side::before, 7, true};
  std::vector<std::byte> bytes(encoded_size(outcome));
  encode(outcome, bytes);
  const auto outcome_back = decode_outcome(bytes);
  ASSERT_TRUE(outcome_back);
  const auto* read = std::get_if<outcome::ReadOutOfBounds>(&*outcome_back);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->tensor, "w");
  EXPECT_EQ(read->offset, 7);
  bytes[0] = std::byte{0xFF};
  EXPECT_FALSE(decode_outcome(bytes)) << "no such outcome";
}

template <typename T>
std::vector<std::byte> encoded(const T& value) {
  std::vector<std::byte> bytes(encoded_size(value));
  encode(value, bytes);
  return bytes;
}

Case with_strings() {
  Case test_case = Rows::row(3);
  test_case.node().attributes.push_back({"activations", std::vector<std::string>{"Tanh", "", "Relu"}});
  return test_case;
}

TEST(Message, CarriesListsOfStrings) {
  const Case test_case = with_strings();
  const std::vector<std::byte> bytes = encoded(test_case);
  Case back;
  ASSERT_TRUE(decode_case(bytes, back));
  EXPECT_EQ(back.node().attributes, test_case.node().attributes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_case(std::span(bytes).first(size), back)) << size;
  }
}

TEST(Plugin, GetsNoListsOfStrings) {
  auto backend = open_sandboxed("plugin:" + library("any_convolution"));
  ASSERT_TRUE(backend) << backend.error().text();
  const Outcome outcome = (*backend)->worker()->examine(with_strings());
  const auto* declined = std::get_if<outcome::Unsupported>(&outcome);
  ASSERT_NE(declined, nullptr);
  EXPECT_EQ(declined->reason,
            "attribute 'activations' is a list of strings, for which the plugin interface has no kind");
}

// A few bits, a number that is far too large, or another length.
void damage(std::vector<std::byte>& bytes, Rng& rng) {
  const std::size_t at = rng.below(static_cast<std::uint32_t>(bytes.size()));
  switch (rng.below(4)) {
    case 0: bytes[at] ^= static_cast<std::byte>(1U << rng.below(8)); break;
    case 1: bytes.resize(at); break;
    case 2: bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), rng.below(64), std::byte{0xFF}); break;
    default: {
      const std::uint64_t number = std::uint64_t{1} << rng.below(64);
      std::memcpy(&bytes[at], &number, std::min(sizeof number, bytes.size() - at));
    }
  }
}

// The memory of a worker may hold anything. It reads as a message or as none; nothing else happens.
TEST(Message, DamageIsNoticedOrHarmless) {
  constexpr std::uint64_t kMessages = kEmulated ? 2000 : 100'000;
  Rng rng(5);
  Outcome produced = outcome::Produced{Tensor{ElementType::int32, {2, 1}, std::vector<std::byte>(8)}};
  produced.on_other_input = OnOtherInput{0, make::uint8({2}, {3, 5}), {make::int32({2}, {1, 2})}};
  const std::vector<std::byte> right[] = {
      encoded(produced),
      encoded(Outcome(outcome::Threw{"int: 7"})),
      encoded(Hello{.info = {.name = "mine", .capabilities = {"units"}}, .error = {}}),
      encoded(random_case(11, 3)),
      encoded(Rows::row(20)),
      encoded(with_strings())};
  std::uint64_t read = 0;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    std::vector<std::byte> bytes = right[i % std::size(right)];
    for (std::uint64_t k = 0; k <= i % 3 && !bytes.empty(); ++k) damage(bytes, rng);
    Case test_case;
    read += decode_outcome(bytes) ? 1 : 0;
    read += decode_hello(bytes) ? 1 : 0;
    read += decode_case(bytes, test_case) ? 1 : 0;
  }
  EXPECT_GT(read, kMessages / 100) << "some damage is in values";
}

// A list that the rest of the message cannot hold takes no memory.
TEST(Message, CountsAreHeldAgainstWhatFollows) {
  std::vector<std::byte> bytes = encoded(Outcome(outcome::Produced{std::vector<Tensor>(3)}));
  const std::uint64_t three = 3;
  const std::uint64_t many = std::uint64_t{1} << 19;
  const auto at = std::search(bytes.begin(), bytes.end(), reinterpret_cast<const std::byte*>(&three),
                              reinterpret_cast<const std::byte*>(&three + 1));
  ASSERT_NE(at, bytes.end());
  std::memcpy(&*at, &many, sizeof many);
  bytes.resize(many + 100);  // a byte for each would do
  EXPECT_FALSE(decode_outcome(bytes));
}

}  // namespace
}  // namespace qconform
