#include "harness/campaign/driver.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "harness/campaign/block_diagnosis.h"
#include "harness/campaign/concluder.h"

namespace qconform::campaign {
namespace {

constexpr std::uint64_t kShardDistance = std::uint64_t{1} << 36;
constexpr double kLongestWait = 0.2;
constexpr double kProgressEvery = 60;
// Early on more often, so that short campaigns have a curve too.
constexpr double kFirstProgress = 1;
constexpr double kProgressGrowth = 1.5;

std::string host_name() {
  char name[256] = {};
  (void)gethostname(name, sizeof name - 1);
  return name;
}

class Driver {
 public:
  explicit Driver(const DriverOptions& options)
      : options_(options), range_(blocks_of(options.identity.shard, options.cases)), next_block_(range_.first) {}

  Result<DriverResult> run() {
    (void)signal(SIGPIPE, SIG_IGN);  // a job that is gone is noticed otherwise
    std::vector<std::string> remarks;
    auto opened = ledger_.open(options_.folder, options_.take, remarks);
    if (opened && ledger_.has_campaign()) opened = options_identity_fits();
    if (!opened) return tl::unexpected(opened.error());
    auto done = with_jobs(remarks);
    if (!done) return tl::unexpected(done.error());
    return DriverResult{identity_, ledger_.blocks().total(), ledger_.state()};
  }

 private:
  using Clock = std::chrono::steady_clock;

  // All but what only the backends can say.
  Result<void> options_identity_fits() {
    Identity known = options_.identity;
    known.infos = ledger_.identity().infos;
    return known.fits(ledger_.identity(), "the journal", true);
  }

  Result<void> with_jobs(std::vector<std::string>& remarks) {
    Jobs jobs(options_.jobs, options_.open, options_.block, [this] { ledger_.close(); });
    jobs_ = &jobs;
    if (auto opened = hear_backends(); !opened) return opened;
    if (auto begun = begin(remarks); !begun) return begun;
    for (const std::string& remark : remarks) options_.remark(remark);
    if (options_.begun) options_.begun(identity_);
    auto done = loop();
    concluder_.end();
    if (!done) run_.ended = "fault";
    if (done) done = end();
    jobs.finish();
    return done;
  }

  Result<void> hear_backends() {
    std::size_t opened = 0;
    while (opened < jobs_->count()) {
      auto messages = jobs_->wait(kLongestWait);
      if (!messages) return tl::unexpected(messages.error());
      for (JobMessage& message : *messages) {
        if (message.kind == JobMessage::Kind::failed) return fail("", message.error);
        if (opened++ == 0) infos_ = std::move(message.infos);
      }
    }
    return {};
  }

  Result<void> begin(std::vector<std::string>& remarks) {
    identity_ = options_.identity;
    identity_.infos = infos_;
    run_.machine = host_name();
    run_.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    run_.jobs = options_.jobs;
    run_.shard = identity_.shard.text();
    run_.ended = "running";
    run_id_ = fmt::format("{}-{}-{}-{}", run_.started, run_.machine, getpid(), Clock::now().time_since_epoch().count());
    if (ledger_.has_campaign()) {
      if (auto fits = identity_.fits(ledger_.identity(), "the journal", true); !fits) return fits;
      options_.remark(fmt::format("going on with {} cases in the journal", ledger_.blocks().total().suite.cases));
    } else if (auto begun = ledger_.begin(identity_, remarks); !begun) {
      return begun;
    }
    totals_ = ledger_.blocks().total();
    for (const auto& [key, found] : totals_.failures) known_.insert(key);
    seconds_before_ = ledger_.seconds_before(run_id_);
    cases_before_ = totals_.suite.cases;
    ledger_.note_run(run_id_, run_);
    return ledger_.commit();
  }

  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  Result<void> loop() {
    start_ = Clock::now();
    for (;;) {
      if (run_.ended == "running" && options_.interrupted()) stop("interrupted");
      if (run_.ended == "running" && options_.seconds && seconds() >= *options_.seconds) stop("time");
      if (run_.ended == "running") hand_out();
      if (jobs_->under_way() == 0) break;
      auto messages = jobs_->wait(wait_seconds());
      if (!messages) return tl::unexpected(messages.error());
      if (auto taken = take(*messages); !taken) return taken;
      show();
      if (auto concluded = conclude_if_new(); !concluded) return concluded;
    }
    if (run_.ended == "running") run_.ended = "cases";
    return {};
  }

  [[nodiscard]] double wait_seconds() const {
    if (!options_.seconds || run_.ended != "running") return kLongestWait;
    return std::clamp(*options_.seconds - seconds(), 0.001, kLongestWait);
  }

  void stop(const char* why) {
    run_.ended = why;
    jobs_->stop();
  }

  void hand_out() {
    while (const auto job = jobs_->hungry()) {
      std::uint64_t cases = kBlockCases;
      for (; next_block_ < range_.end; ++next_block_) {
        if (options_.cases) cases = std::min(kBlockCases, *options_.cases - next_block_ * kBlockCases);
        if (!ledger_.blocks().holds({next_block_, 1, cases})) break;
      }
      if (next_block_ >= range_.end) return;
      jobs_->give(*job, next_block_++, cases);
    }
  }

  Result<void> take(std::vector<JobMessage>& messages) {
    for (JobMessage& message : messages) {
      if (message.kind == JobMessage::Kind::failed) return fail("", message.error);
      if (message.kind != JobMessage::Kind::done || message.record.span.cases == 0) continue;
      const Span span = message.record.span;
      if (auto added = ledger_.add(std::move(message.record)); !added) return tl::unexpected(added.error());
      run_.cases += span.cases;
      changed_ = true;
    }
    if (messages.empty()) return {};
    note();
    return ledger_.commit();
  }

  // The total of all blocks takes a moment: it is made when it is asked for.
  const Tally& total() {
    if (std::exchange(changed_, false)) totals_ = ledger_.blocks().total();
    return totals_;
  }

  void note() {
    run_.seconds = seconds();
    if (run_.seconds < next_note_) return;
    next_note_ = std::min(run_.seconds * kProgressGrowth, run_.seconds + kProgressEvery);
    const Tally& sum = total();
    ledger_.note_progress({seconds_before_ + run_.seconds, sum.suite.cases, sum.unwaived(), kinds(sum)});
    ledger_.note_run(run_id_, run_);
  }

  static std::uint64_t kinds(const Tally& sum) {
    return static_cast<std::uint64_t>(std::count_if(sum.failures.begin(), sum.failures.end(), [](const auto& entry) {
      return entry.first.waiver.empty() && entry.first.symptom != kUnexamined;
    }));
  }

  void show() {
    if (seconds() < next_show_) return;
    next_show_ = seconds() + kLongestWait;
    const Tally& sum = total();
    HazardCoverage hazards;
    for (const auto& [op_type, by_types] : sum.hazards) {
      for (const auto& [types, tallies] : by_types) hazards.add(op_type, types, tallies);
    }
    Standing standing;
    standing.cases = sum.suite.cases + jobs_->cases_under_way();
    standing.of = options_.cases;
    if (options_.cases) standing.of = cases_of_shard();
    standing.rate = static_cast<double>(standing.cases - cases_before_) / std::max(seconds(), 0.001);
    standing.elements = sum.suite.elements;
    for (const HazardInfo& info : qconform::hazards()) {
      standing.hazards += hazards.is_applicable(info.hazard) ? 1 : 0;
      standing.hazards_reached += hazards.total(info.hazard).cases > 0 ? 1 : 0;
    }
    standing.failures = sum.unwaived();
    standing.findings = concluder_.said();
    if (options_.seconds) standing.seconds_left = std::max(0.0, *options_.seconds - seconds());
    if (standing.of && standing.rate > 0) {
      const double by_cases =
          static_cast<double>(*standing.of - std::min(*standing.of, standing.cases)) / standing.rate;
      standing.seconds_left = std::min(standing.seconds_left.value_or(by_cases), by_cases);
    }
    options_.progress(standing);
  }

  [[nodiscard]] std::uint64_t cases_of_shard() const {
    return std::min(*options_.cases, range_.end * kBlockCases) - std::min(*options_.cases, range_.first * kBlockCases);
  }

  Result<void> conclude_if_new() {
    concluder_.poll();
    if (!options_.conclude || run_.ended != "running" || !concluder_.is_ready()) return {};
    const std::size_t before = known_.size();
    for (const auto& [key, found] : total().failures) {
      if (key.waiver.empty() && key.symptom != kUnexamined) known_.insert(key);
    }
    if (known_.size() == before) return {};
    concluder_.begin([this] { ledger_.close(); },
                     [this] { return options_.conclude(total(), ledger_.state(), identity_); });
    return {};
  }

  Result<void> end() {
    run_.seconds = seconds();
    const Tally& sum = total();
    ledger_.note_progress({seconds_before_ + run_.seconds, sum.suite.cases, sum.unwaived(), kinds(sum)});
    ledger_.note_run(run_id_, run_);
    return ledger_.commit();
  }

  const DriverOptions& options_;
  BlockRange range_;
  std::uint64_t next_block_;
  Ledger ledger_;
  Jobs* jobs_ = nullptr;
  Concluder concluder_;
  Identity identity_;
  std::vector<BackendInfo> infos_;
  CampaignRun run_;
  std::string run_id_;
  Tally totals_;
  bool changed_ = false;
  std::set<FailureKey> known_;
  std::uint64_t cases_before_ = 0;
  double seconds_before_ = 0;
  Clock::time_point start_ = Clock::now();
  double next_note_ = kFirstProgress;
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

Result<DriverResult> drive(const DriverOptions& options) {
  return Driver(options).run();
}

}  // namespace qconform::campaign
