// Backends on processors that an emulator plays (docs/other-cpus.md): from the command line to the verdict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>

#include "harness/base/file.h"
#include "harness/engine/case_files.h"
#include "harness/tests/program.h"
#include "harness/tests/stand_ins.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

bool has_emulator() {
  return std::system("command -v qemu-x86_64 >/dev/null 2>&1") == 0;
}

bool has_bochs() {
  const char* const stated = std::getenv("QCONFORM_BOCHS");
  const std::filesystem::path beside = std::filesystem::path(QCONFORM_PROGRAM).parent_path() / "../../bochs";
  return std::filesystem::exists((stated != nullptr && *stated != '\0' ? std::filesystem::path(stated) : beside) /
                                 "RECIPE");
}

#define NEEDS_EMULATOR() \
  if (!has_emulator()) GTEST_SKIP() << "qemu-x86_64 is not installed: scripts/install-packages emulators"

TEST(OtherCpus, EachIsAColumnAndConforms) {
  NEEDS_EMULATOR();
  const TemporaryFolder folder;
  const auto result =
      qconform("run --backend scalar --backend avx2 --cpu native,Haswell --suite random --cases 60 --out " +
               folder.path().string());
  if (result.output.find("avx2 does not run on this CPU") != std::string::npos) GTEST_SKIP() << result.output;
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("scalar[Haswell]"), HasSubstr("avx2[Haswell]"), HasSubstr("conforms")));
}

TEST(OtherCpus, KnowTheDefectsOfAFile) {
  NEEDS_EMULATOR();
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "mine.json").string();
  ASSERT_TRUE(write_file(file, R"({"format": "qconform-defects", "version": 1, "defects": [{
    "id": "up", "description": "ties go up", "operators": ["QuantizeLinear"], "stage": "round",
    "expression": "half_up", "trigger": "a tie", "rules": ["Q1"]}]})"));
  const auto result = qconform("run --backend defect:up --cpu Haswell --suite directed --cases 300 --defects " + file +
                               " --no-shrink --out " + folder.path().string());
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("does not conform: defect:up[Haswell]"));
}

TEST(OtherCpus, RefusesKernelSetsThatTheProcessorLacks) {
  NEEDS_EMULATOR();
  const auto result = qconform("run --backend avx2 --cpu Nehalem --suite random --cases 1");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, AllOf(HasSubstr("avx2[Nehalem]"), HasSubstr("does not run on this CPU")));
}

TEST(OtherCpus, RefusesUnknownProcessors) {
  NEEDS_EMULATOR();
  const auto misspelt = qconform("run --backend scalar --cpu Haswel --suite random --cases 1");
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_THAT(misspelt.output, AllOf(HasSubstr("no processor \"Haswel\""), HasSubstr("is it Haswell")));
  const auto prefixed = qconform("run --backend scalar --cpu x86_64:cortex-a72 --suite random --cases 1");
  EXPECT_EQ(prefixed.exit_code, 2);
  EXPECT_THAT(prefixed.output, HasSubstr("no processor \"x86_64:cortex-a72\""));
}

TEST(OtherCpus, RefusesOtherProcessorsWithoutAnEmulator) {
  const auto result = qconform("run --backend scalar --cpu Haswell --suite random --cases 1", "PATH=/nonexistent");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, AllOf(HasSubstr("neither is installed"), HasSubstr("qemu-user")));
}

TEST(OtherCpus, RefusesAFileThatIsNotAnArm64Program) {
  NEEDS_EMULATOR();
  const auto result =
      qconform("run --backend scalar --cpu cortex-a72 --suite random --cases 1 --arm64-program /nonexistent");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("/nonexistent is not a program"));
}

TEST(OtherCpus, TellsWhatBringsBochs) {
  const auto result =
      qconform("run --backend scalar --cpu sapphire_rapids --suite random --cases 1", "QCONFORM_BOCHS=/nonexistent");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("bochs:sapphire_rapids needs the emulator Bochs"), HasSubstr("scripts/get-bochs")));
}

TEST(OtherCpus, NamesTheProcessorOfBochsThatIsMeant) {
  const auto result = qconform("run --backend scalar --cpu saphire_rapids --suite random --cases 1");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("is it sapphire_rapids"));
  const auto prefixed = qconform("run --backend scalar --cpu bochs:haswel --suite random --cases 1");
  EXPECT_EQ(prefixed.exit_code, 2);
  EXPECT_THAT(prefixed.output, HasSubstr("is it bochs:haswell"));
}

// Each starts a machine, which takes the emulator some twelve seconds of a processor.
#define NEEDS_BOCHS() \
  if (!has_bochs()) GTEST_SKIP() << "Bochs is not in build/bochs: scripts/get-bochs"

TEST(Bochs, RunsKernelSetsInTheirOwnEncoding) {
  NEEDS_BOCHS();
  const TemporaryFolder folder;
  const auto result = qconform(
      "run --backend avxvnni --backend avx512vnni --cpu sapphire_rapids --guard sampled --suite " QCONFORM_CORPUS
      "/qlinear_conv/tails.json --suite random --cases 40 --out " +
      folder.path().string());
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("avxvnni[bochs:sapphire_rapids]"),
                                   HasSubstr("avx512vnni[bochs:sapphire_rapids]"), HasSubstr("conforms")));
}

TEST(Bochs, RefusesKernelSetsThatTheProcessorLacks) {
  NEEDS_BOCHS();
  const auto result = qconform("run --backend avx512vnni --cpu arrow_lake --suite random --cases 1");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, AllOf(HasSubstr("avx512vnni[bochs:arrow_lake]"), HasSubstr("does not run on this CPU")));
}

struct CorpusOnBochs {
  const char* backend;
  const char* cpu;
};

// The bytes of the struct, which are printed otherwise, are addresses: names of tests would change from build to build.
void PrintTo(const CorpusOnBochs& one, std::ostream* out) {
  *out << one.backend << " on " << one.cpu;
}

class CorpusOnBochsSlow : public ::testing::TestWithParam<CorpusOnBochs> {};

TEST_P(CorpusOnBochsSlow, Conforms) {
  NEEDS_BOCHS();
  const TemporaryFolder folder;
  const auto result = qconform(std::string("run --guard sampled --suite corpus --backend ") + GetParam().backend +
                               " --cpu " + GetParam().cpu + " --out " + folder.path().string());
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

INSTANTIATE_TEST_SUITE_P(All, CorpusOnBochsSlow,
                         ::testing::Values(CorpusOnBochs{"avxvnni", "sapphire_rapids"},
                                           CorpusOnBochs{"avx512vl", "sapphire_rapids"},
                                           CorpusOnBochs{"avx512vnni", "sapphire_rapids"},
                                           CorpusOnBochs{"avxvnni", "arrow_lake"}),
                         [](const auto& test) { return std::string(test.param.backend) + "_" + test.param.cpu; });

struct HostilePlugin {
  const char* library;
  const char* verdict;
  const char* options;
};

void PrintTo(const HostilePlugin& hostile, std::ostream* out) {
  *out << hostile.library;
}

class HostileOnAnotherCpu : public ::testing::TestWithParam<HostilePlugin> {};

void expect_report_at_the_failing_case(const HostilePlugin& plugin, const std::string& cpu) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "row.json";
  const std::string backend =
      std::string(" --backend plugin:" QCONFORM_PLUGINS "/") + plugin.library + ".so[" + cpu + "] " + plugin.options;
  ASSERT_TRUE(write_case(Rows::row(Rows::kHostile), CaseForm::json, file));
  const auto hostile = qconform("replay " + file.string() + backend);
  EXPECT_EQ(hostile.exit_code, 1) << hostile.output;
  EXPECT_THAT(hostile.output, HasSubstr(plugin.verdict));
  ASSERT_TRUE(write_case(Rows::row(Rows::kHostile + 1), CaseForm::json, file));
  const auto harmless = qconform("replay " + file.string() + backend);
  EXPECT_EQ(harmless.exit_code, 0) << harmless.output;
}

TEST_P(HostileOnAnotherCpu, IsReportedAtTheFailingCase) {
  NEEDS_EMULATOR();
  expect_report_at_the_failing_case(GetParam(), "Haswell");
}

class HostileOnBochsSlow : public ::testing::TestWithParam<HostilePlugin> {};

TEST_P(HostileOnBochsSlow, IsReportedAtTheFailingCase) {
  NEEDS_BOCHS();
  expect_report_at_the_failing_case(GetParam(), "bochs:haswell");
}

const auto kHostilePlugins = ::testing::Values(
    HostilePlugin{"segfaults", "crashed: signal 11", ""}, HostilePlugin{"exits", "exited: ", ""},
    HostilePlugin{"loops", "timed-out", "--timeout 0.1"},
    HostilePlugin{"devours", "out-of-memory", "--memory-limit 128"},
    HostilePlugin{"reads_past", "read 1 byte past w", ""},
    HostilePlugin{"writes_before", "wrote 1 byte before the output", ""},
    HostilePlugin{"unwritten", "4 bytes of the output not written", ""}, HostilePlugin{"flushes", "flush-to-zero", ""});
const auto kPluginName = [](const auto& test) { return std::string(test.param.library); };

INSTANTIATE_TEST_SUITE_P(All, HostileOnAnotherCpu, kHostilePlugins, kPluginName);
INSTANTIATE_TEST_SUITE_P(All, HostileOnBochsSlow, kHostilePlugins, kPluginName);

}  // namespace
}  // namespace qconform::testing
