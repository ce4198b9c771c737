// Libraries that do everything wrong that a backend can, each told as what it is, at the right case.
#include "harness/isolate/isolate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>

#include "harness/backend/select.h"
#include "harness/core/case_builder.h"
#include "harness/core/file.h"
#include "harness/isolate/message.h"
#include "harness/judge/judge.h"
#include "harness/run/campaign.h"
#include "harness/source/random.h"

namespace qconform {
namespace {

#ifdef QCONFORM_EMULATED
constexpr bool kEmulated = true;
#else
constexpr bool kEmulated = false;
#endif
// A worker is then a process of the emulator: memory, signals and a second fork are the emulator's.
constexpr const char* kWhyNotEmulated = "not run under an emulator: workers that die are not told apart there";

using ::testing::HasSubstr;

constexpr double kTimeout = 3;
constexpr std::int64_t kMemory = std::int64_t{128} << 20;

// Rows of 3 to 40 elements; the one of 13 is where the hostile libraries go wrong.
class Rows final : public CaseSource {
 public:
  static constexpr std::int64_t kFirst = 3;
  static constexpr std::int64_t kLast = 40;

  [[nodiscard]] static Case row(std::int64_t columns) {
    std::vector<std::int64_t> x;
    for (std::int64_t i = 0; i < columns; ++i) x.push_back((11 + 37 * i) % 256);
    return ConvIntegerBuilder()
        .id("row-" + std::to_string(columns))
        .x(make::uint8({1, 1, columns}, x))
        .w(make::int8({1, 1, 3}, {-7, 101, 5}))
        .build();
  }
  [[nodiscard]] std::string name() const override { return "rows"; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (columns_ > kLast) return std::nullopt;
    return row(columns_++);
  }

 private:
  std::int64_t columns_ = kFirst;
};

std::string library(const std::string& name) {
  return QCONFORM_PLUGINS "/" + name + ".so";
}

Result<std::unique_ptr<Backend>> open_isolated(const std::string& backend) {
  return backend::select(backend, RoundingProfile::correctly_rounded,
                         {.which = backend::IsolationPolicy::Which::all, .limits = {kTimeout, kMemory}});
}

Report run(CaseSource* source, std::unique_ptr<Backend> backend) {
  std::vector<std::unique_ptr<CaseSource>> suites;
  suites.emplace_back(source);
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::move(backend));
  Report report;
  EXPECT_TRUE(run_campaign(suites, backends, {}, report).has_value());
  return report;
}

struct Hostile {
  const char* library;
  VerdictKind kind;
  const char* detail;
  const char* log;
};

void PrintTo(const Hostile& hostile, std::ostream* out) {
  *out << hostile.library;
}

class HostileLibrary : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileLibrary, IsToldAsWhatItIsAtTheCaseThatItWas) {
  if (kEmulated) GTEST_SKIP() << kWhyNotEmulated;
  const auto start = std::chrono::steady_clock::now();
  auto backend = open_isolated("plugin:" + library(GetParam().library));
  ASSERT_TRUE(backend) << backend.error().text();
  const Report report = run(new Rows, std::move(*backend));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  const BackendResult& result = report.backends[0];
  EXPECT_EQ(result.cases(), static_cast<std::uint64_t>(Rows::kLast - Rows::kFirst + 1)) << "nothing is lost";
  EXPECT_EQ(result.count(GetParam().kind), 1U);
  EXPECT_EQ(result.count(VerdictKind::pass) + result.count(VerdictKind::mistrusted), result.cases() - 1)
      << "the other cases' results are what they are alone";
  ASSERT_EQ(report.findings.size(), 1U);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(name_of(finding.kind), name_of(GetParam().kind)) << finding.verdict.detail;
  EXPECT_EQ(finding.example.id, "row-13");
  EXPECT_THAT(finding.verdict.detail, HasSubstr(GetParam().detail));
  EXPECT_THAT(finding.verdict.log, HasSubstr(GetParam().log));
  EXPECT_LT(seconds, 20);
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileLibrary,
    ::testing::Values(Hostile{"segfaults", VerdictKind::crashed, "signal 11", "about to write to address 64"},
                      Hostile{"loops", VerdictKind::timed_out, "no answer within 3 s", ""},
                      Hostile{"exits", VerdictKind::exited, "status 3", ""},
                      Hostile{"devours", VerdictKind::out_of_memory, "more than 128 MiB", ""},
                      Hostile{"reads_past", VerdictKind::read_out_of_bounds, "read 1 byte past w", ""},
                      Hostile{"writes_before", VerdictKind::out_of_bounds, "wrote 1 byte before the output", ""},
                      Hostile{"unwritten", VerdictKind::unwritten,
                              "4 bytes of the output not written, first of element 10", ""},
                      Hostile{"changes_input", VerdictKind::changed_input, "changed its input x at byte 0", ""},
                      Hostile{"random_answers", VerdictKind::nondeterministic, "element 0 differs", ""},
                      Hostile{"flushes", VerdictKind::changed_float_mode, "flush-to-zero", ""}),
    [](const auto& test) { return std::string(test.param.library); });

TEST(Isolate, GivesTheAnswersOfTheSameBackendInThisProcess) {
  auto here = backend::select("scalar", RoundingProfile::correctly_rounded);
  auto there = open_isolated("scalar");
  ASSERT_TRUE(here && there);
  std::vector<std::unique_ptr<CaseSource>> suites;
  suites.push_back(std::make_unique<RandomSource>(5, 500));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::move(*here));
  backends.push_back(std::move(*there));
  Report report;
  ASSERT_TRUE(run_campaign(suites, backends, {}, report));
  EXPECT_TRUE(report.conforms());
  for (const auto& [name, result] : report.backends[0].operators) {
    EXPECT_EQ(result.verdicts, report.backends[1].operators[name].verdicts) << name;
  }
}

TEST(Plugin, TheDocumentedExampleIsTheFileThatIsBuilt) {
  const std::filesystem::path root = QCONFORM_SOURCE_DIRECTORY;
  const auto example = read_file(root / "harness/tests/plugins/dequantize.c", 1 << 20);
  const auto page = read_file(root / "docs/adding-a-backend.md", 1 << 20);
  ASSERT_TRUE(example && page);
  EXPECT_THAT(*page, HasSubstr("```c\n" + *example + "```\n"));
  EXPECT_LT(std::count(example->begin(), example->end(), '\n'), 60);
}

TEST(Plugin, TheExampleConforms) {
  auto backend = open_isolated("plugin:" + library("dequantize"));
  ASSERT_TRUE(backend) << backend.error().text();
  const Report report = run(new RandomSource(3, 600), std::move(*backend));
  EXPECT_TRUE(report.conforms());
  EXPECT_GT(report.backends[0].operators.at("DequantizeLinear").count(VerdictKind::pass), 5U);
}

TEST(Isolate, LibrariesThatAreNoneAreErrors) {
  if (kEmulated) GTEST_SKIP() << kWhyNotEmulated;
  EXPECT_THAT(open_isolated("plugin:" + library("missing")).error().text(), HasSubstr("missing.so"));
  EXPECT_THAT(open_isolated("plugin:libm.so.6").error().text(), HasSubstr("libm.so.6"));
  EXPECT_THAT(open_isolated("plugin:/dev/null").error().text(), HasSubstr("/dev/null"));
}

TEST(Isolate, ABackendThatEndsWhileItIsOpenedIsAnError) {
  const auto opened = isolate([]() -> Result<std::unique_ptr<Backend>> { std::abort(); }, {kTimeout, kMemory});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().text(), HasSubstr("ended while it was opened"));
}

TEST(Message, CasesAndOutcomesComeBackAsTheyWere) {
  for (std::uint64_t index = 0; index < 200; ++index) {
    const Case test_case = random_case(11, index);
    std::vector<std::byte> bytes(encoded_size(test_case));
    encode(test_case, bytes);
    const auto back = decode_case(bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(digest_of(*back), digest_of(test_case));
    EXPECT_EQ(back->inputs, test_case.inputs);
    EXPECT_EQ(back->attributes, test_case.attributes);
    // Cut short, it is none; that is noticed without reading beyond the end.
    for (std::size_t size = 0; size < std::min<std::size_t>(bytes.size(), 64); ++size) {
      EXPECT_FALSE(decode_case(std::span(bytes).first(size)));
    }
  }
  const Outcome outcome = outcome::ReadOutOfBounds{"w", outcome::WroteOutOfBounds::Side::before, 7, true};
  std::vector<std::byte> bytes(encoded_size(outcome));
  encode(outcome, bytes);
  const auto back = decode_outcome(bytes);
  ASSERT_TRUE(back);
  const auto* read = std::get_if<outcome::ReadOutOfBounds>(&*back);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->tensor, "w");
  EXPECT_EQ(read->offset, 7);
  bytes[0] = std::byte{0xFF};
  EXPECT_FALSE(decode_outcome(bytes)) << "no such outcome";
}

}  // namespace
}  // namespace qconform
