// Holds a campaign's report, how many cases have which cause, against what every single case shows.
#include "harness/campaign/build_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "harness/backends/select.h"
#include "harness/campaign/block_run.h"
#include "harness/campaign/campaign_aggregate.h"
#include "harness/campaign/identity.h"
#include "harness/engine/execute.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/tests/aggregate_bytes.h"
#include "reports/render/forms.h"
#include "reports/render/terminal.h"

namespace qconform::campaign {
namespace {

using qconform::testing::bytes_without_times;
using ::testing::HasSubstr;

std::unique_ptr<Backend> selected(const std::string& name) {
  auto backend = backend::select(name, RoundingProfile::correctly_rounded);
  EXPECT_TRUE(backend) << backend.error().text();
  return std::move(*backend);
}

// Another defect in each path of one kernel, as real ones have them.
class Paths final : public Backend {
 public:
  explicit Paths(const std::vector<std::string>& names) {
    for (const std::string& name : names) paths_.push_back(selected(name));
  }
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    const auto& x = test_case.inputs[0];
    const std::int64_t channels = x && x->shape.size() > 1 ? x->shape[1] : 0;
    return paths_[static_cast<std::size_t>(channels) % paths_.size()]->prepare(test_case);
  }

 private:
  BackendInfo info_{"paths", "1", "test"};
  std::vector<std::unique_ptr<Backend>> paths_;
};

constexpr std::uint64_t kBlocks = 10;  // the last six blocks examine few of their failures

std::vector<std::unique_ptr<Backend>> planted() {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::make_unique<Paths>(
      std::vector<std::string>{"defect:pad-raw-zero", "defect:half-away", "defect:w-zp-ignored+pads-order"}));
  return backends;
}

CaseAt cases() {
  Identity identity;
  identity.seed = 7;
  return cases_of(identity);
}

std::vector<CampaignAggregate> blocks() {
  std::vector<CampaignAggregate> all;
  auto backends = planted();
  const BlockOptions options{.case_at = cases(), .judge = {}, .stop = {}, .progress = {}};
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    auto result = run_block(block, kBlockCases / 2, backends, options);
    EXPECT_TRUE(result.has_value());
    all.push_back(std::move(result->aggregate));
  }
  return all;
}

Report report_of(const CampaignAggregate& sum) {
  auto backends = planted();
  Report report;
  report.environment.started = "2026-01-01T00:00:00Z";
  report.profile = "conformance";
  report.overflow = "wrap";
  report.campaign.emplace();
  build_report(sum, backends, {.judge = {}, .case_at = cases(), .shrink = false}, report);
  return report;
}

CampaignAggregate sum_of(const std::vector<CampaignAggregate>& parts) {
  CampaignAggregate sum;
  for (const CampaignAggregate& part : parts) sum.add(part);
  return sum;
}

// By operator and set of defects: the cases that fail, and whose whole output the set reproduces.
class Examination {
 public:
  std::uint64_t reproduced(const std::string& op_type, const std::string& signature) {
    auto& backend = models_[signature];
    if (!backend) backend = selected("defect:" + signature);
    std::uint64_t count = 0;
    for (const auto& [test_case, outputs] : failing()) {
      if (test_case.subject() != op_type) continue;
      const Outcome outcome = execute(*backend, test_case, output_);
      const auto* produced = std::get_if<outcome::Produced>(&outcome);
      count += produced != nullptr && produced->outputs == outputs ? 1 : 0;
    }
    return count;
  }

 private:
  using Failing = std::vector<std::pair<Case, std::vector<Tensor>>>;

  const Failing& failing() {
    if (!failing_.empty()) return failing_;
    auto backends = planted();
    for (std::uint64_t block = 0; block < kBlocks; ++block) {
      for (std::uint64_t i = 0; i < kBlockCases / 2; ++i) {
        Case test_case = cases()(block * kBlockCases + i);
        const Outcome outcome = execute(*backends[0], test_case, output_);
        const Verdict verdict = judge(expect(test_case, {}), outcome);
        if (!is_failure(verdict.kind)) continue;
        const auto* produced = std::get_if<outcome::Produced>(&outcome);
        failing_.emplace_back(std::move(test_case), produced == nullptr ? std::vector<Tensor>{} : produced->outputs);
      }
    }
    return failing_;
  }

  Failing failing_;
  std::map<std::string, std::unique_ptr<Backend>> models_;
  GuardedOutput output_;
};

// In every form the findings' cases and those that no finding has add up to the failing ones, by operator.
void expect_all_counted(const Report& report) {
  std::map<std::string, std::uint64_t> in_findings;
  for (const Finding& finding : report.findings) in_findings[finding.op_type] += finding.cases;
  for (const auto& [op_type, result] : report.backends[0].operators) {
    EXPECT_EQ(in_findings[op_type] + result.undetermined, result.failing()) << op_type;
  }
}

// No cause has more cases than it reproduces.
void expect_reproduced(const Report& report) {
  Examination examination;
  std::set<std::string> told;
  for (const Finding& finding : report.findings) {
    ASSERT_TRUE(finding.diagnosis.has_value()) << finding.signature;
    EXPECT_EQ(finding.diagnosis->examined, finding.cases) << finding.signature;
    const bool is_known =
        finding.signature.find(':') == std::string::npos && finding.signature.find('|') == std::string::npos;
    if (!is_known) continue;
    told.insert(finding.signature);
    EXPECT_LE(finding.cases, examination.reproduced(finding.op_type, finding.signature))
        << finding.op_type << " " << finding.signature;
  }
  EXPECT_TRUE(told.contains("pad-raw-zero") && told.contains("half-away"));
}

// The interval of each known defect holds the number of cases that an examination of all cases finds.
void expect_between(const Report& report) {
  Examination examination;
  std::size_t estimated = 0;
  for (const Finding& finding : report.findings) {
    if (!finding.between) continue;
    ++estimated;
    EXPECT_LE(finding.between->least, finding.between->most);
    EXPECT_GE(finding.between->least, finding.cases);
    if (finding.signature != "pad-raw-zero" && finding.signature != "half-away") continue;
    const std::uint64_t truth = examination.reproduced(finding.op_type, finding.signature);
    EXPECT_LE(finding.between->least, truth) << finding.op_type << " " << finding.signature;
    EXPECT_GE(finding.between->most, truth) << finding.op_type << " " << finding.signature;
  }
  EXPECT_GT(estimated, 0U);
}

// Every form says how many failing cases no finding has.
void expect_told_in_every_form(const Report& report) {
  const std::string json = report::to_json(report);
  const auto read = report::read_report(json);
  ASSERT_TRUE(read.has_value()) << read.error().text();
  expect_all_counted(*read);
  std::uint64_t undetermined = 0;
  for (const auto& [op_type, result] : report.backends[0].operators) {
    undetermined += result.undetermined;
    if (result.undetermined == 0) continue;
    const std::string counted = report::with_thousands(result.undetermined) + " further failing case";
    EXPECT_THAT(report::summary(report, {}), HasSubstr(counted));
    EXPECT_THAT(report::summary(report, {.brief = true}), HasSubstr(counted));
    EXPECT_THAT(report::to_markdown(report, report::kCommentBytes), HasSubstr(counted));
    EXPECT_THAT(report::to_junit(report), HasSubstr(counted));
  }
  EXPECT_GT(undetermined, 0U) << "blocks examined every failure: nothing is tested";
}

TEST(BuildReport, CountsNoCaseToACauseThatDoesNotReproduceIt) {
  const Report report = report_of(sum_of(blocks()));
  expect_all_counted(report);
  expect_reproduced(report);
  expect_between(report);
  expect_told_in_every_form(report);
}

// Reports follow from the sum alone, times aside.
TEST(BuildReport, HasTheSameSumAfterAMerge) {
  const auto parts = blocks();
  // Resumed, and merged in another order, each part by way of a journal.
  CampaignAggregate merged;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    auto read = decode_aggregate(encode_aggregate(*part));
    ASSERT_TRUE(read.has_value()) << read.error().text();
    merged.add(*read);
  }
  EXPECT_EQ(bytes_without_times(merged), bytes_without_times(sum_of(parts)));
}

}  // namespace
}  // namespace qconform::campaign
