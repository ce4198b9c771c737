// Lines that libFuzzer prints, and the files that it leaves.

#include "harness/campaign/guided/libfuzzer.h"

#include <gtest/gtest.h>

#include "harness/base/file.h"
#include "harness/onnx/case_model.h"
#include "harness/suites/drawn.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::guided {
namespace {

// Logs of libFuzzer, and of processes that sanitizers ended.

TEST(ForkLine, HasRunsAndCoverage) {
  const auto line =
      fork_line("#1234: cov: 500 ft: 2000 corp: 300 exec/s 10 oom/timeout/crash: 0/1/2 time: 12s job: 3 dft_time: 0");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->executions, 1234U);
  EXPECT_EQ(line->coverage.edges, 500U);
  EXPECT_EQ(line->coverage.features, 2000U);
}

TEST(ForkLine, RejectsOtherLines) {
  EXPECT_FALSE(fork_line("").has_value());
  EXPECT_FALSE(fork_line("INFO: -fork=2: fuzzing in separate process(s)").has_value());
  EXPECT_FALSE(fork_line("#12\tNEW    cov: 5 ft: 6 corp: 2/18b lim: 4 exec/s: 0 rss: 30Mb").has_value());
  EXPECT_FALSE(fork_line("#many: cov: 500 ft: 2000 job: 3").has_value());
}

TEST(JobLine, IsTheLastWholeOne) {
  const JobLine at = last_job_line("#2\tINITED cov: 5 ft: 6 corp: 1/1b\n#1024\tNEW    cov: 7 ft: 9 corp: 2/3b\n#20");
  EXPECT_EQ(at.executions, 1024U);
  EXPECT_EQ(at.coverage.edges, 7U);
  EXPECT_EQ(at.coverage.features, 9U);
}

TEST(JobLine, PassesOverWhatTheTargetPrints) {
  EXPECT_EQ(last_job_line("#77\tpulse  cov: 1 ft: 1\nkernel says hello\n\n").executions, 77U);
  EXPECT_EQ(last_job_line("nothing yet\n").executions, 0U);
  EXPECT_EQ(last_job_line("#9").executions, 0U);
  EXPECT_EQ(last_job_line("").executions, 0U);
}

TEST(LastWords, AreTheSanitizersSummary) {
  const TellingLine words = last_words(
      "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000011\n"
      "SUMMARY: AddressSanitizer: heap-buffer-overflow /src/kernel.cc:12:3 in run(int)\n==7==ABORTING\n");
  EXPECT_EQ(words.line, "AddressSanitizer: heap-buffer-overflow /src/kernel.cc:12:3 in run(int)");
  EXPECT_EQ(words.kind, "AddressSanitizer: heap-buffer-overflow in run(int)");
}

TEST(LastWords, OfUndefinedBehaviourAreItsKind) {
  const TellingLine words = last_words(
      "kernel.cc:9:5: runtime error: signed integer overflow: 2147483647 + 1\n"
      "SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior kernel.cc:9:5 in\n");
  EXPECT_EQ(words.line, "kernel.cc:9:5: runtime error: signed integer overflow: 2147483647 + 1");
  EXPECT_TRUE(words.kind.starts_with("UndefinedBehaviorSanitizer: runtime error: signed integer overflow"))
      << words.kind;
}

TEST(LastWords, OfAProgramWithoutSanitizersAreItsLastLine) {
  EXPECT_EQ(last_words("one\nwhat was read cannot be written\n\n").line, "what was read cannot be written");
  EXPECT_EQ(last_words("").kind, "ended");
}

TEST(CheckWords, RefusesWhatAShellTakesForItsOwn) {
  EXPECT_TRUE(check_words({"/home/me/fuzz_differential", "--backend=defect:pad-raw-zero+x", "-seed=7"}).has_value());
  for (const char* const word : {"/home/my folder/target", "--backend=a;b", "$(x)", "a'b", ""}) {
    const auto checked = check_words({"good", word});
    ASSERT_FALSE(checked.has_value()) << word;
    EXPECT_NE(checked.error().text().find(word), std::string::npos);
  }
}

using qconform::testing::TemporaryFolder;

void put(const std::filesystem::path& file, const Case& test_case) {
  const auto model = case_to_model(test_case);
  ASSERT_TRUE(model.has_value());
  ASSERT_TRUE(write_file(file, *model).has_value());
}

std::vector<Case> all(Suite& source) {
  std::vector<Case> cases;
  for (;;) {
    auto next = source.next();
    if (!next || !*next) return cases;
    cases.push_back(std::move(**next));
  }
}

TEST(KeptInputs, AreReadOnceAndKeepTheirNumbers) {
  const TemporaryFolder folder;
  KeptInputs inputs(7);
  put(folder.path() / "b", random_case(1, 1));
  put(folder.path() / "a", random_case(1, 2));
  const auto first = all(*inputs.source(inputs.fresh(folder.path())));
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].id, "libfuzzer-a");
  EXPECT_EQ(digest_of(first[0]), digest_of(random_case(1, 2)));
  EXPECT_EQ(first[1].provenance, (Provenance{"libfuzzer", 7, 1}));
  EXPECT_TRUE(inputs.fresh(folder.path()).empty());
  put(folder.path() / "c", random_case(1, 3));
  const auto second = all(*inputs.source(inputs.fresh(folder.path())));
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].provenance.index, 2U);
  inputs.forget_all_but({1});
  EXPECT_EQ(inputs.at(1), first[1]);
}

TEST(KeptInputs, HaveNeitherTagsNorExpectation) {
  const TemporaryFolder folder;
  Case drawn = random_case(1, 4);
  drawn.tags = {"profile:ort-f32"};
  drawn.expectation = Expectation::invalid;
  drawn.note = "a note";
  put(folder.path() / "a", drawn);
  KeptInputs inputs(7);
  const auto cases = all(*inputs.source(inputs.fresh(folder.path())));
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_TRUE(cases[0].tags.empty());
  EXPECT_EQ(cases[0].expectation, Expectation::unstated);
}

TEST(KeptInputs, CountFilesWithoutACaseAndPostponeUnfinishedOnes) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.path() / "damaged", "no model").has_value());
  std::filesystem::rename(folder.path() / "damaged", folder.path() / "x.part");
  KeptInputs inputs(7);
  EXPECT_TRUE(inputs.fresh(folder.path()).empty());
  std::filesystem::rename(folder.path() / "x.part", folder.path() / "x");
  auto files = inputs.fresh(folder.path());
  files.push_back(folder.path() / "gone");
  const auto source = inputs.source(std::move(files));
  EXPECT_TRUE(all(*source).empty());
  ASSERT_EQ(source->skipped().size(), 1U);
  EXPECT_EQ(source->skipped().begin()->second, 1U);
}

}  // namespace
}  // namespace qconform::guided
