#include "harness/campaign/run_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <ctime>
#include <utility>

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

}  // namespace qconform::campaign
