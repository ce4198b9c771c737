// How a campaign judges its cases, the campaign at some time, and its report, which is also written while it runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/process.h"
#include "harness/campaign/campaign_aggregate.h"
#include "harness/campaign/identity.h"
#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/engine/waivers.h"

namespace qconform::campaign {

struct JudgeOptions {
  Policy policy;
  const Waivers* waivers = nullptr;  ///< null: nothing may fail
  bool explain = true;               ///< determine symptoms, sample cases, and look for the defects behind failures
};

/// A case of the campaign by Provenance::index: one that failed.
using CaseAt = std::function<Case(std::uint64_t)>;

struct CampaignSnapshot {
  Identity identity;
  CampaignAggregate aggregate;
  CampaignResult result;
  CaseAt case_at;                   ///< for the aggregate's failures and rows
  std::optional<Error> fault = {};  ///< error that ended the campaign early; the rest was done before it
};

// Builds the report of a campaign from what its blocks found: explains failures, groups them by cause, and shrinks
// their smallest cases. The same aggregate gives the same report on every machine, as far as the backends
// give the same answers: counts bound the expense, and time only where that is not enough.

struct ReportOptions {
  JudgeOptions judge;
  CaseAt case_at;
  bool shrink = true;
  /// For explaining, and as many for shrinking: what is not looked at by then is undetermined, and not shrunk.
  double seconds = 120;
  std::string suite = "fuzz";  ///< name of the suite in reports
  /// Is told what is being done, "explaining failures of mine", before whatever takes long; may be empty.
  std::function<void(const std::string&)> progress = {};
};

/// Fills suites, corner cases, backends, findings, single cases and times of the report. The backends are those of the
/// campaign, in its order.
void build_report(const CampaignAggregate& aggregate, std::vector<std::unique_ptr<Backend>>& backends,
                  const ReportOptions& options, Report& report);

// Builds reports in a process of its own, while the campaign goes on.

class BackgroundReporter {
 public:
  BackgroundReporter() = default;
  ~BackgroundReporter();
  BackgroundReporter(const BackgroundReporter&) = delete;
  BackgroundReporter& operator=(const BackgroundReporter&) = delete;

  /// Whether another report may begin: none is being built, and those so far took at most a tenth of the time.
  [[nodiscard]] bool is_ready() const;
  /// Runs `close_files` and `work` in a child. `work` returns the report in a few words.
  void begin(const std::function<void()>& close_files, const std::function<std::string()>& work);
  /// Takes the words of a child that has ended.
  void poll();
  /// Kills the child, if one runs.
  void end();
  [[nodiscard]] const std::string& last_report() const { return last_report_; }

 private:
  using Clock = std::chrono::steady_clock;

  void receive();

  ForkedProcess process_;
  Descriptor from_;
  std::string receiving_;
  std::string last_report_;
  Clock::time_point begun_;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(2);
};

}  // namespace qconform::campaign
