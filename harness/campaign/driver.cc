#include "harness/campaign/driver.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <ctime>
#include <map>
#include <set>
#include <utility>

#include "harness/base/error.h"
#include "harness/campaign/build_report.h"

namespace qconform::campaign {
namespace {

constexpr double kProgressEvery = 60;  // s
constexpr double kProgressGrowth = 1.5;

// A clock may stand anywhere: years of four digits are what a report takes.
std::time_t clamped(std::time_t time) {
  constexpr std::time_t kLast = 253402300799;  // the last second of the year 9999
  return std::clamp<std::time_t>(time, 0, kLast);
}

std::string host_name() {
  char name[256] = {};
  (void)gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

Result<bool> RunLog::begin(const Identity& identity, int jobs, std::vector<std::string>& remarks) {
  run_.machine = host_name();
  run_.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(clamped(std::time(nullptr))));
  run_.jobs = jobs;
  run_.shard = identity.shard.text();
  run_.ended = "running";
  id_ = fmt::format("{}-{}-{}-{}", run_.started, run_.machine, getpid(), Clock::now().time_since_epoch().count());
  const bool goes_on = store_.has_campaign();
  QCONFORM_TRY(goes_on ? identity.fits(store_.identity(), "the journal", true) : store_.begin(identity, remarks));
  seconds_before_ = store_.seconds_before(id_);
  start_ = Clock::now();
  store_.note_run(id_, run_);
  std::string remark;
  QCONFORM_TRY(store_.commit(remark));
  if (!remark.empty()) remarks.push_back(std::move(remark));
  return goes_on;
}

void RunLog::note(ProgressPoint point) {
  run_.seconds = seconds();
  next_note_ = std::min(run_.seconds * kProgressGrowth, run_.seconds + kProgressEvery);
  point.seconds = seconds_before_ + run_.seconds;
  store_.note_progress(point);
  store_.note_run(id_, run_);
}

Progress progress_of(const CampaignAggregate& sum) {
  Progress progress;
  progress.suite = sum.suite.name;
  progress.cases = sum.suite.cases;
  progress.elements = sum.suite.elements;
  for (const CornerCaseInfo& info : qconform::corner_cases()) {
    progress.corner_cases += sum.corner_cases.is_applicable(info.corner_case) ? 1 : 0;
    progress.corner_cases_reached += sum.corner_cases.total(info.corner_case).cases > 0 ? 1 : 0;
  }
  progress.failures = sum.unwaived();
  return progress;
}

std::uint64_t kinds_of(const CampaignAggregate& sum) {
  return static_cast<std::uint64_t>(std::count_if(sum.failures.begin(), sum.failures.end(),
                                                  [](const auto& entry) { return entry.first.waiver.empty(); }));
}

bool note_failures(const CampaignAggregate& sum, std::set<FailureKey>& seen) {
  const std::size_t before = seen.size();
  for (const auto& [key, found] : sum.failures) {
    if (key.waiver.empty()) seen.insert(key);
  }
  return seen.size() > before;
}

void FailureNews::skip(const CampaignAggregate& sum) {
  for (const auto& [key, found] : sum.failures) {
    if (key.waiver.empty()) told_.insert(key.backend);
  }
}

void FailureNews::tell(const CampaignAggregate& sum, const std::vector<BackendInfo>& infos, const CaseAt& case_at) {
  if (!tell_ || told_.size() == infos.size()) return;
  std::map<std::size_t, const FailingCase*> smallest;
  for (const auto& [key, found] : sum.failures) {
    if (!key.waiver.empty() || told_.contains(key.backend)) continue;
    const FailingCase*& of_backend = smallest[key.backend];
    if (of_backend == nullptr || found.smallest.is_smaller_than(*of_backend)) of_backend = &found.smallest;
  }
  for (const auto& [backend, failing] : smallest) {
    told_.insert(backend);
    tell_(backend, infos[backend], case_at(failing->index), failing->verdict);
  }
}

namespace {

constexpr std::uint64_t kShardDistance = std::uint64_t{1} << 36;
constexpr double kLongestWait = 0.2;

class Driver {
 public:
  explicit Driver(const DriverOptions& options)
      : options_(options),
        news_(options.news),
        range_(blocks_of(options.identity.shard, options.cases)),
        next_block_(range_.first) {}

  Result<CampaignSnapshot> run() {
    (void)signal(SIGPIPE, SIG_IGN);  // a job that is gone is noticed otherwise
    std::vector<std::string> remarks;
    QCONFORM_TRY(store_.open(options_.folder, options_.take, remarks));
    if (store_.has_campaign()) QCONFORM_TRY(options_identity_fits());
    const auto done = with_jobs(remarks);
    if (!done && !has_begun_) return tl::unexpected(done.error());
    CampaignSnapshot all = snapshot(store_.blocks().total());
    if (!done) all.fault = done.error();
    return all;
  }

 private:
  [[nodiscard]] CampaignSnapshot snapshot(CampaignAggregate aggregate) const {
    return {identity_, std::move(aggregate), store_.result(), options_.block.case_at};
  }

  // All but what only the backends can say.
  Result<void> options_identity_fits() {
    Identity own = options_.identity;
    own.infos = store_.identity().infos;
    return own.fits(store_.identity(), "the journal", true);
  }

  Result<void> with_jobs(std::vector<std::string>& remarks) {
    Jobs jobs(options_.jobs, options_.open, options_.block, [this] { store_.close(); });
    jobs_ = &jobs;
    QCONFORM_TRY(hear_backends());
    QCONFORM_TRY(begin(remarks));
    for (const std::string& remark : remarks) options_.remark(remark);
    has_begun_ = true;
    auto done = without_machine_failures([this] { return loop(); });
    reporter_.end();
    if (!done) run_.end("fault");
    run_.note(progress_point());
    auto kept = commit();
    jobs.finish();
    return done ? kept : done;
  }

  // A machine that has no more of something ends the campaign; what was done is reported.
  template <typename Work>
  static Result<void> without_machine_failures(const Work& work) {
    try {
      return work();
    } catch (const MachineFailure& failure) {
      return fail("", failure.what());
    }
  }

  Result<void> commit() {
    std::string remark;
    auto done = store_.commit(remark);
    if (!remark.empty()) options_.remark(remark);
    return done;
  }

  Result<void> hear_backends() {
    std::size_t opened = 0;
    while (opened < jobs_->count()) {
      QCONFORM_ASSIGN(auto messages, jobs_->wait(kLongestWait));
      for (JobMessage& message : messages) {
        if (message.kind == JobMessage::Kind::failed) return fail("", message.error);
        if (message.kind == JobMessage::Kind::replaced) options_.remark(message.error);
        if (message.kind == JobMessage::Kind::opened && opened++ == 0) infos_ = std::move(message.infos);
      }
    }
    return {};
  }

  Result<void> begin(std::vector<std::string>& remarks) {
    identity_ = options_.identity;
    identity_.infos = infos_;
    QCONFORM_ASSIGN(const auto goes_on, run_.begin(identity_, options_.jobs, remarks));
    totals_ = store_.blocks().total();
    cases_before_ = totals_.suite.cases;
    if (goes_on) options_.remark(fmt::format("resuming a campaign of {} cases", cases_before_));
    for (const auto& [key, found] : totals_.failures) seen_.insert(key);
    news_.skip(totals_);
    return {};
  }

  Result<void> loop() {
    for (;;) {
      if (run_.is_running() && options_.interrupted()) stop("interrupted");
      if (run_.is_running() && options_.seconds && run_.seconds() >= *options_.seconds) stop("time");
      if (run_.is_running()) hand_out();
      if (jobs_->under_way() == 0) break;
      QCONFORM_ASSIGN(auto messages, jobs_->wait(wait_seconds()));
      QCONFORM_TRY(take(messages));
      show();
      QCONFORM_TRY(report_if_new());
    }
    if (run_.is_running()) run_.end("cases");
    return {};
  }

  [[nodiscard]] double wait_seconds() const {
    if (!options_.seconds || !run_.is_running()) return kLongestWait;
    return std::clamp(*options_.seconds - run_.seconds(), 0.001, kLongestWait);
  }

  void stop(const char* why) {
    run_.end(why);
    jobs_->stop();
  }

  void hand_out() {
    while (const auto job = jobs_->next_idle()) {
      const auto blocks = next_blocks();
      if (!blocks) return;
      jobs_->submit(*job, *blocks);
    }
  }

  // The next blocks that are not done, as many as are handed out at once; nothing where there are no more.
  std::optional<Span> next_blocks() {
    while (next_block_ < range_.end && is_done(next_block_)) ++next_block_;
    if (next_block_ >= range_.end) return std::nullopt;
    Span blocks{next_block_, 1, cases_of(next_block_)};
    // One record holds an aligned power of two of them (Span); any other range takes several.
    const std::uint64_t alignment = next_block_ == 0 ? range_.end : std::uint64_t{1} << std::countr_zero(next_block_);
    const std::uint64_t most = std::min(alignment, std::bit_floor(blocks_at_once()));
    for (++next_block_; blocks.is_whole() && blocks.blocks < most && next_block_ < range_.end; ++next_block_) {
      if (cases_of(next_block_) != kBlockCases || is_done(next_block_)) break;
      ++blocks.blocks;
    }
    return blocks;
  }

  [[nodiscard]] bool is_done(std::uint64_t block) const { return store_.blocks().holds({block, 1, cases_of(block)}); }

  // The last block of a number of cases may have fewer.
  [[nodiscard]] std::uint64_t cases_of(std::uint64_t block) const {
    return options_.cases ? std::min(kBlockCases, *options_.cases - block * kBlockCases) : kBlockCases;
  }

  // A job gets as many blocks as it sums up, but so few at the end of a campaign that all jobs end at about the same
  // time.
  [[nodiscard]] std::uint64_t blocks_at_once() const {
    const double jobs = options_.jobs;
    const double in_a_second = static_cast<double>(run_.cases()) / kBlockCases / std::max(run_.seconds(), 0.001) / jobs;
    const double share = static_cast<double>(range_.end - next_block_) / (jobs == 1 ? 1 : 4 * jobs);
    return static_cast<std::uint64_t>(std::max(1.0, std::min(in_a_second * options_.block.sum_seconds, share)));
  }

  Result<void> take(std::vector<JobMessage>& messages) {
    for (JobMessage& message : messages) {
      if (message.kind == JobMessage::Kind::failed) return fail("", message.error);
      if (message.kind == JobMessage::Kind::replaced) options_.remark(message.error);
      if (message.kind != JobMessage::Kind::done || message.record.span.cases == 0) continue;
      const Span span = message.record.span;
      QCONFORM_TRY(store_.add(std::move(message.record)));
      run_.set_cases(run_.cases() + span.blocks * span.cases);
      changed_ = true;
    }
    if (messages.empty()) return {};
    news_.tell(total(), infos_, options_.block.case_at);
    if (run_.is_due()) run_.note(progress_point());
    return commit();
  }

  // Summing up all blocks takes a moment: done on demand.
  const CampaignAggregate& total() {
    if (std::exchange(changed_, false)) totals_ = store_.blocks().total();
    return totals_;
  }

  ProgressPoint progress_point() {
    const CampaignAggregate& sum = total();
    return {.cases = sum.suite.cases, .failures = sum.unwaived(), .findings = kinds_of(sum)};
  }

  void show() {
    if (run_.seconds() < next_show_) return;
    next_show_ = run_.seconds() + kLongestWait;
    Progress progress = progress_of(total());
    progress.cases += jobs_->cases_under_way();
    if (options_.cases) progress.of = cases_of_shard();
    progress.rate = static_cast<double>(progress.cases - cases_before_) / std::max(run_.seconds(), 0.001);
    progress.findings = reporter_.last_report();
    if (options_.seconds) progress.seconds_left = std::max(0.0, *options_.seconds - run_.seconds());
    if (progress.of) {
      const auto done = static_cast<double>(progress.cases - cases_before_);
      const auto all = static_cast<double>(*progress.of) - static_cast<double>(cases_before_);
      const auto by_cases = seconds_left(done, all, run_.seconds());
      if (by_cases) progress.seconds_left = std::min(progress.seconds_left.value_or(*by_cases), *by_cases);
    }
    options_.progress(progress);
  }

  [[nodiscard]] std::uint64_t cases_of_shard() const {
    return std::min(*options_.cases, range_.end * kBlockCases) - std::min(*options_.cases, range_.first * kBlockCases);
  }

  Result<void> report_if_new() {
    reporter_.poll();
    if (!options_.build_report || !run_.is_running() || !reporter_.is_ready()) return {};
    if (!note_failures(total(), seen_)) return {};
    reporter_.begin([this] { store_.close(); }, [this] { return options_.build_report(snapshot(total())); });
    return {};
  }

  const DriverOptions& options_;
  FailureNews news_;
  BlockRange range_;
  std::uint64_t next_block_;
  JournalStore store_;
  Jobs* jobs_ = nullptr;
  BackgroundReporter reporter_;
  Identity identity_;
  std::vector<BackendInfo> infos_;
  RunLog run_{store_};
  CampaignAggregate totals_;
  bool changed_ = false;
  bool has_begun_ = false;
  std::set<FailureKey> seen_;
  std::uint64_t cases_before_ = 0;
  double next_show_ = 0;
};

}  // namespace

BlockRange blocks_of(const Shard& shard, std::optional<std::uint64_t> cases) {
  if (!cases) {
    const std::uint64_t first = (shard.number - 1) * kShardDistance;
    return {first, first + kShardDistance};
  }
  const std::uint64_t blocks = *cases / kBlockCases + (*cases % kBlockCases == 0 ? 0 : 1);
  // Without overflow: whole shares, and what is left over spread over the first ones.
  const std::uint64_t share = blocks / shard.of;
  const std::uint64_t rest = blocks % shard.of;
  const auto start = [&](std::uint64_t number) { return number * share + std::min(number, rest); };
  return {start(shard.number - 1), start(shard.number)};
}

Result<CampaignSnapshot> drive(const DriverOptions& options) {
  return Driver(options).run();
}

}  // namespace qconform::campaign
