// Jobs run blocks in processes of their own: what they send adds up to the blocks, in few messages, whatever ends them.
#include <gtest/gtest.h>
#include <signal.h>

#include <stdexcept>

#include "harness/base/file.h"
#include "harness/campaign/driver.h"
#include "harness/tests/aggregate_bytes.h"
#include "harness/tests/planted_kernels.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::campaign {
namespace {

using qconform::testing::bytes_without_times;
using qconform::testing::planted_backend;

// Computes as pad-raw-zero does, but ends its process at one of the cases, once.
class EndsItsProcess final : public Backend {
 public:
  // The process ends while the file `mark` is there, and takes it along.
  EndsItsProcess(std::string case_id, std::filesystem::path mark)
      : case_id_(std::move(case_id)), mark_(std::move(mark)), inner_(planted_backend("pad-raw-zero")) {}
  [[nodiscard]] const BackendInfo& info() const override { return inner_->info(); }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (test_case.id == case_id_ && std::filesystem::remove(mark_)) (void)raise(SIGKILL);
    return inner_->prepare(test_case);
  }

 private:
  std::string case_id_;
  std::filesystem::path mark_;
  std::unique_ptr<Backend> inner_;
};

// Failures are not explained, so that there are few kinds of them.
BlockOptions some_options(double sum_seconds = 0.5) {
  Identity identity;
  identity.seed = 7;
  BlockOptions options{.case_at = cases_of(identity), .judge = {}};
  options.judge.explain = false;
  options.sum_seconds = sum_seconds;
  return options;
}

std::vector<std::unique_ptr<Backend>> one(std::unique_ptr<Backend> backend) {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::move(backend));
  return backends;
}

struct Heard {
  BlockAggregates blocks;
  std::size_t records = 0;
  std::vector<std::string> replaced;
};

// Submits the blocks to one job and hears it out.
Heard hear_out(const OpenBackends& open, const std::vector<Span>& commands, double sum_seconds) {
  Jobs jobs(1, open, some_options(sum_seconds), [] {});
  for (const Span& command : commands) jobs.submit(0, command);
  Heard heard;
  while (jobs.under_way() > 0) {
    auto messages = jobs.wait(0.2);
    if (!messages) throw std::runtime_error(messages.error().text());
    for (JobMessage& message : *messages) {
      if (message.kind == JobMessage::Kind::replaced) heard.replaced.push_back(message.error);
      if (message.kind != JobMessage::Kind::done) continue;
      ++heard.records;
      auto aggregate = decode_aggregate(message.record.payload);
      if (!aggregate) throw std::runtime_error(aggregate.error().text());
      EXPECT_TRUE(heard.blocks.insert(message.record.span, std::move(*aggregate)));
    }
  }
  return heard;
}

std::string sum_of_blocks(std::uint64_t count, std::uint64_t last_cases) {
  auto backends = one(planted_backend("pad-raw-zero"));
  BlockAggregates blocks;
  for (std::uint64_t block = 0; block < count; ++block) {
    auto done = run_block(block, block + 1 == count ? last_cases : kBlockCases, backends, some_options());
    if (!done) throw std::runtime_error(done.error().text());
    static_cast<void>(blocks.insert(done->span, std::move(done->aggregate)));
  }
  return bytes_without_times(blocks.total());
}

TEST(Jobs, SendTheSumOfTheirBlocksInFewMessages) {
  const auto open = [] { return Result<std::vector<std::unique_ptr<Backend>>>(one(planted_backend("pad-raw-zero"))); };
  const std::vector<Span> commands{{0, 4, kBlockCases}, {4, 1, 100}};
  constexpr double kNever = 1e9;
  const Heard seldom = hear_out(open, commands, kNever);
  EXPECT_EQ(bytes_without_times(seldom.blocks.total()), sum_of_blocks(5, 100));
  EXPECT_TRUE(seldom.replaced.empty());
  // A block that fails anew is sent at once: the first one, and those of each further kind.
  EXPECT_LT(seldom.records, 5U);
  const Heard often = hear_out(open, commands, 0);
  EXPECT_EQ(bytes_without_times(often.blocks.total()), sum_of_blocks(5, 100));
  EXPECT_EQ(often.records, 5U);
}

TEST(Jobs, RunTheBlocksOfAJobThatEndedAgain) {
  const qconform::testing::TemporaryFolder folder;
  const auto mark = folder.path() / "once";
  ASSERT_TRUE(write_file(mark, "").has_value());
  const auto open = [&] {
    return Result<std::vector<std::unique_ptr<Backend>>>(
        one(std::make_unique<EndsItsProcess>("fuzz-7-" + std::to_string(kBlockCases + 9), mark)));
  };
  const Heard heard = hear_out(open, {{0, 3, kBlockCases}}, 0.5);
  EXPECT_EQ(bytes_without_times(heard.blocks.total()), sum_of_blocks(3, kBlockCases));
  ASSERT_EQ(heard.replaced.size(), 1U);
  EXPECT_NE(heard.replaced[0].find("in block 1 (cases 512 to 1023)"), std::string::npos) << heard.replaced[0];
}

TEST(FailureNews, TellOnceOfEachBackendWithItsSmallestCase) {
  const std::vector<BackendInfo> infos(3);
  CampaignAggregate sum;
  sum.failures[{0, "QLinearConv", "wrong", "waived"}].smallest = {1, 1, {}};
  sum.failures[{1, "ConvInteger", "wrong", ""}].smallest = {9, 2, {}};
  sum.failures[{1, "QLinearConv", "wrong", ""}].smallest = {4, 3, {}};
  std::string told;
  const auto tell = [&](std::size_t backend, const BackendInfo&, const Case& test_case, const Verdict&) {
    told += std::to_string(backend) + ":" + std::to_string(test_case.provenance.index) + " ";
  };
  const CaseAt case_at = [](std::uint64_t index) {
    Case test_case;
    test_case.provenance.index = index;
    return test_case;
  };
  FailureNews news(tell);
  news.tell(sum, infos, case_at);
  EXPECT_EQ(told, "1:3 ");
  sum.failures[{1, "ConvInteger", "other", ""}].smallest = {1, 4, {}};
  sum.failures[{2, "QLinearConv", "wrong", ""}].smallest = {5, 5, {}};
  news.tell(sum, infos, case_at);
  EXPECT_EQ(told, "1:3 2:5 ");

  told.clear();
  FailureNews resumed(tell);
  resumed.skip(sum);
  resumed.tell(sum, infos, case_at);
  EXPECT_EQ(told, "");
}

}  // namespace
}  // namespace qconform::campaign
