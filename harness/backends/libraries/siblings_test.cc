// A library may not refuse at one setting what it computes at another: whatever the suite, a run says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/backends/kinds.h"
#include "harness/backends/libraries/libraries.h"
#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/engine/run_suites.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/select.h"
#include "harness/tests/test_scale.h"
#include "reference/kernels/kernels.h"

namespace qconform::libraries {
namespace {

using ::testing::HasSubstr;

constexpr auto kArithmetic = RoundingProfile::correctly_rounded;

std::vector<std::unique_ptr<Suite>> suites(const std::string& name, std::uint64_t cases) {
  SuiteOptions options;
  options.cases = cases;
  auto opened = open_suite(name, options);
  EXPECT_TRUE(opened) << opened.error().text();
  return std::move(*opened);
}

struct Judged {
  Report report;
  std::map<std::uint64_t, VerdictKind> verdicts;  // verdicts on the first backend, by the case's digest
};

Judged run(std::vector<std::unique_ptr<Suite>> sources, std::vector<std::unique_ptr<Backend>> backends) {
  Judged judged;
  SuiteRunOptions options;
  options.judged = [&](const Case& test_case, const CornerCaseCounts&,
                       const std::vector<CaseResult::OfBackend>& results) {
    judged.verdicts[digest_of(test_case)] = results.front().verdict;
  };
  const auto ran = run_suites(sources, backends, options, judged.report);
  EXPECT_TRUE(ran) << ran.error().text();
  return judged;
}

// Refuses a part of what its kernels compute: one setting of a library.
class Setting final : public Backend {
 public:
  Setting(std::string name, std::uint64_t refused)
      : inner_(backend::in_tree(reference::kernel_sets().front(), kArithmetic, name)), refused_(refused) {}
  [[nodiscard]] const BackendInfo& info() const override { return inner_->info(); }
  [[nodiscard]] bool refuses(const Case& test_case) const { return (digest_of(test_case) & 7U) < refused_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (refuses(test_case)) return outcome::Unsupported{"kernel 'k" + test_case.id + "' lacks this"};
    return inner_->prepare(test_case);
  }

 private:
  std::unique_ptr<Backend> inner_;
  std::uint64_t refused_;
};

std::unique_ptr<Backend> setting_beside_plain(std::uint64_t refused, std::uint64_t refused_by_plain) {
  return backend::with_siblings(std::make_unique<Setting>("library@fast", refused), {"library@plain"},
                                [=](const std::string& name) -> Result<std::unique_ptr<Backend>> {
                                  return std::make_unique<Setting>(name, refused_by_plain);
                                });
}

// Both alone, held against the run of one beside the other.
TEST(Siblings, ARunFailsExactlyWhereOneRefusesWhatAnotherComputes) {
  for (const std::uint64_t plain : {0U, 2U, 3U, 5U}) {
    std::vector<std::unique_ptr<Backend>> backends;
    backends.push_back(setting_beside_plain(3, plain));
    Setting fast("library@fast", 3);
    Setting other("library@plain", plain);
    std::set<std::uint64_t> expected;
    for (auto& suite : suites("random", 300)) {
      while (auto next = *suite->next()) {
        if (fast.refuses(*next) && !other.refuses(*next)) expected.insert(digest_of(*next));
      }
    }
    const Judged judged = run(suites("random", 300), std::move(backends));
    std::set<std::uint64_t> found;
    for (const auto& [digest, verdict] : judged.verdicts) {
      if (verdict == VerdictKind::refused_here) found.insert(digest);
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(judged.report.conforms(), expected.empty()) << plain;
    if (expected.empty()) continue;
    for (const Finding& finding : judged.report.findings) {
      EXPECT_EQ(finding.signature, "refused-here:kernel lacks this") << "one finding for each operator";
      EXPECT_THAT(finding.verdict.detail, HasSubstr("computed by library@plain"));
    }
  }
}

// ONNX Runtime's optimizer makes legal graphs fail; the run names one setting.
TEST(Siblings, NoRefusalOfOnnxRuntimeIsContradictedByASettingThatTheRunDidNotAsk) {
  backend::offer_libraries(libraries());
  auto all = backend::select_all({"onnxruntime@all"}, kArithmetic);
  if (!all) GTEST_SKIP() << all.error().text();
  const auto plain = *backend::select("onnxruntime@disabled", kArithmetic);
  for (const std::string name : {"graphs", "corpus"}) {
    const auto cases = static_cast<std::uint64_t>(testing::scaled(300));
    auto again = backend::select_all({"onnxruntime@all"}, kArithmetic);
    const Judged judged = run(suites(name, cases), std::move(*again));
    GuardedOutput output;
    std::uint64_t contradicted = 0;
    for (auto& suite : suites(name, cases)) {
      while (auto next = *suite->next()) {
        const VerdictKind verdict = judged.verdicts.at(digest_of(*next));
        if (verdict != VerdictKind::unsupported && verdict != VerdictKind::refused_here) continue;
        const VerdictKind there = judge(expect(*next, Policy{}), execute(*plain, *next, output)).kind;
        const bool is_right_there = there == VerdictKind::pass || there == VerdictKind::vacuous;
        EXPECT_EQ(verdict == VerdictKind::refused_here, is_right_there) << next->id;
        contradicted += is_right_there ? 1 : 0;
      }
    }
    EXPECT_GT(contradicted, 0U) << name << ": nothing was tried";
    EXPECT_FALSE(judged.report.conforms());
  }
}

}  // namespace
}  // namespace qconform::libraries
