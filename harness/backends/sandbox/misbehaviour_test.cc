// Everything that a library may do to its process is told at the right case, costs no other, leaves the backend beside
// it unharmed and nothing running. `misbehaves` has one way for each argument.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/select.h"
#include "harness/base/process.h"
#include "harness/engine/run_suites.h"
#include "harness/tests/stand_ins.h"

namespace qconform {
namespace {

using ::testing::HasSubstr;
using testing::Rows;
using Kind = VerdictKind;

#ifdef QCONFORM_EMULATED
constexpr double kPatience = 20;
#else
constexpr double kPatience = 1;
#endif
constexpr std::int64_t kMemoryLimit = std::int64_t{128} << 20;
constexpr Kind kHarmless = Kind::pass;
#if defined(__x86_64__)
constexpr Kind kChangesX87 = Kind::changed_float_mode;
#else
constexpr Kind kChangesX87 = kHarmless;
#endif

struct MisbehaviourWay {
  const char* name;
  VerdictKind kind;  ///< the verdict on row Rows::kHostile; kHarmless where it passes
  const char* detail;
};

void PrintTo(const MisbehaviourWay& way, std::ostream* out) {
  *out << way.name;
}

Result<std::unique_ptr<Backend>> open_way(const std::string& way) {
  return backend::select("plugin:" QCONFORM_PLUGINS "/misbehaves.so@way=" + way, RoundingProfile::correctly_rounded,
                         {.which = backend::SandboxPolicy::Which::all, .limits = {kPatience, kMemoryLimit}});
}

class Misbehaviour : public ::testing::TestWithParam<MisbehaviourWay> {};

TEST_P(Misbehaviour, HarmsItsOwnCaseAlone) {
  const MisbehaviourWay& way = GetParam();
  const std::size_t before = descendants_of(getpid()).size();
  std::vector<std::unique_ptr<Backend>> backends;
  auto beside = backend::select("scalar", RoundingProfile::correctly_rounded,
                                {.which = backend::SandboxPolicy::Which::all, .limits = {10, kMemoryLimit}});
  ASSERT_TRUE(beside);
  auto opened = open_way(way.name);
  ASSERT_TRUE(opened) << opened.error().text();
  backends.push_back(std::move(*opened));
  backends.push_back(std::move(*beside));
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<Rows>());
  Report report;
  ASSERT_TRUE(run_suites(suites, backends, {}, report));
  backends.clear();

  ASSERT_EQ(report.backends.size(), 2U);
  EXPECT_TRUE(report.backends[1].conforms()) << "the backend beside it";
  const BackendResult& result = report.backends[0];
  const std::uint64_t right = result.count(Kind::pass) + result.count(Kind::vacuous);
  EXPECT_EQ(result.cases(), static_cast<std::uint64_t>(Rows::kLast - Rows::kFirst + 1));
  EXPECT_EQ(right, result.cases() - (way.kind == kHarmless ? 0 : 1));
  ASSERT_EQ(report.findings.size(), way.kind == kHarmless ? 0U : 1U);
  if (way.kind != kHarmless) {
    EXPECT_EQ(name_of(report.findings[0].kind), name_of(way.kind)) << report.findings[0].verdict.detail;
    EXPECT_EQ(report.findings[0].example.id, "row-" + std::to_string(Rows::kHostile));
    EXPECT_THAT(report.findings[0].verdict.detail, HasSubstr(way.detail));
    EXPECT_LT(report.findings[0].verdict.detail.size(), 1000U);
  }
  EXPECT_EQ(descendants_of(getpid()).size(), before) << "left running";
}

INSTANTIATE_TEST_SUITE_P(
    All, Misbehaviour,
    ::testing::Values(
        MisbehaviourWay{"run-throws", Kind::threw, "std::runtime_error: no kernel for 13"},
        MisbehaviourWay{"run-throws-int", Kind::threw, "int: 7"},
        MisbehaviourWay{"run-throws-text", Kind::threw, "char const*: a text"},
        MisbehaviourWay{"run-throws-string", Kind::threw, ": a string"},
        MisbehaviourWay{"run-throws-much", Kind::threw, "xxxx..."},
        MisbehaviourWay{"run-throws-unspeakable", Kind::crashed, "Segmentation fault"},
        MisbehaviourWay{"run-throws-foreign", Kind::threw, "an exception that is not C++'s"},
        MisbehaviourWay{"prepare-throws", Kind::threw, "std::logic_error: cannot pack"},
        MisbehaviourWay{"release-throws", Kind::threw, "std::runtime_error: cannot free"},
        MisbehaviourWay{"run-throws-in-a-thread", Kind::threw, "std::runtime_error: in a thread"},
        MisbehaviourWay{"run-exits-and-throws", Kind::threw, "std::runtime_error: at the end"},
        MisbehaviourWay{"run-ends-its-thread", Kind::threw, "it ended its thread"},
        MisbehaviourWay{"run-writes-to-descriptors", kHarmless, ""},
        MisbehaviourWay{"run-closes-descriptors", kHarmless, ""},
        MisbehaviourWay{"run-truncates-descriptors", kHarmless, ""},
        MisbehaviourWay{"run-grows-descriptors", kHarmless, ""}, MisbehaviourWay{"run-reads-stdin", kHarmless, ""},
        MisbehaviourWay{"run-zeroes-shared-memory", Kind::crashed, "wrote over the worker's own memory"},
        MisbehaviourWay{"run-scribbles-shared-memory", Kind::crashed, "wrote over the worker's own memory"},
        MisbehaviourWay{"run-leaves-a-child", kHarmless, ""}, MisbehaviourWay{"run-leaves-a-daemon", kHarmless, ""},
        MisbehaviourWay{"run-leaves-a-daemon-and-crashes", Kind::crashed, "signal 11"},
        MisbehaviourWay{"run-leaves-many", kHarmless, ""},
        MisbehaviourWay{"run-kills-its-parent", Kind::crashed, "signal 9"},
        MisbehaviourWay{"run-kills-its-group", Kind::crashed, "signal 9"},
        MisbehaviourWay{"run-kills-itself", Kind::crashed, "signal 9"},
        MisbehaviourWay{"run-stops", Kind::timed_out, "no answer within"},
        MisbehaviourWay{"run-is-alarmed", Kind::crashed, "signal 14"},
        MisbehaviourWay{"run-recurses", Kind::crashed, "signal 11"},
        MisbehaviourWay{"run-aborts", Kind::crashed, "signal 6"},
        MisbehaviourWay{"run-divides", Kind::crashed, "signal 8"},
        MisbehaviourWay{"run-exits-quickly", Kind::exited, "status 0"},
        MisbehaviourWay{"run-becomes-another", Kind::exited, "status 0"},
        MisbehaviourWay{"run-hides-its-crash", Kind::crashed, "signal 11"},
        MisbehaviourWay{"run-waits", Kind::timed_out, "no answer within"},
        MisbehaviourWay{"run-devours-in-a-child", Kind::out_of_memory, "more than 128 MiB"},
        MisbehaviourWay{"run-devours-files-in-memory", Kind::out_of_memory, "more than 128 MiB"},
        MisbehaviourWay{"run-changes-x87", kChangesX87, "precision of the x87"},
        MisbehaviourWay{"run-prints-much", kHarmless, ""}, MisbehaviourWay{"run-changes-its-folder", kHarmless, ""},
        MisbehaviourWay{"run-changes-its-environment", kHarmless, ""},
        MisbehaviourWay{"run-changes-its-locale", kHarmless, ""},
        MisbehaviourWay{"run-changes-its-mask", kHarmless, ""}, MisbehaviourWay{"run-exhausts-files", kHarmless, ""},
        MisbehaviourWay{"run-lowers-its-limits", kHarmless, ""}, MisbehaviourWay{"run-ignores-signals", kHarmless, ""},
        MisbehaviourWay{"run-blocks-signals", kHarmless, ""},
        MisbehaviourWay{"run-outlives-its-parent", kHarmless, ""}),
    [](const auto& test) {
      std::string name = test.param.name;
      for (char& letter : name) letter = letter == '-' ? '_' : letter;
      return name;
    });

TEST(MisbehaviourInOpening, NamesTheBackend) {
  EXPECT_THAT(open_way("open-throws").error().text(),
              ::testing::AllOf(HasSubstr("misbehaves.so"),
                               HasSubstr("threw while it was opened: std::runtime_error: cannot open")));
  EXPECT_THAT(open_way("open-crashes").error().text(),
              ::testing::AllOf(HasSubstr("misbehaves.so"), HasSubstr("ended while it was opened: Segmentation fault")));
  const auto loaded =
      backend::select("plugin:" QCONFORM_PLUGINS "/throws_when_loaded.so", RoundingProfile::correctly_rounded, {});
  EXPECT_THAT(loaded.error().text(), ::testing::AllOf(HasSubstr("throws_when_loaded.so"), HasSubstr("when loaded")));
}

TEST(MisbehaviourInOpening, ObeysTheTimeLimit) {
  const auto start = std::chrono::steady_clock::now();
  const auto opened =
      backend::select("plugin:" QCONFORM_PLUGINS "/misbehaves.so@way=open-hangs", RoundingProfile::correctly_rounded,
                      {.which = backend::SandboxPolicy::Which::all, .limits = {0.1, kMemoryLimit}});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().text(),
              ::testing::AllOf(HasSubstr("misbehaves.so"), HasSubstr("did not open within 1.2 s")));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(MisbehaviourInThisProcess, AnExceptionIsTold) {
  auto opened =
      backend::select("plugin:" QCONFORM_PLUGINS "/misbehaves.so@way=run-throws", RoundingProfile::correctly_rounded,
                      {.which = backend::SandboxPolicy::Which::none, .limits = {}});
  ASSERT_TRUE(opened) << opened.error().text();
  const Report report = testing::report_of(std::make_unique<Rows>(), std::move(*opened));
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(name_of(report.findings[0].kind), "threw");
}

}  // namespace
}  // namespace qconform
