// Builds the report of a campaign from what its blocks found: explains failures, groups them by cause, and shrinks
// their smallest cases. The same aggregate gives the same report on every machine, as far as the backends
// give the same answers: counts bound the expense, and time only where that is not enough.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/campaign/campaign_aggregate.h"
#include "harness/campaign/campaign_snapshot.h"
#include "harness/core/backend.h"

namespace qconform::campaign {

struct ReportOptions {
  JudgeOptions judge;
  CaseAt case_at;
  WaiverDraft* draft = nullptr;  ///< gets the smallest case of each finding that no waiver covers; may be null
  bool shrink = true;
  /// For explaining, and as many for shrinking: what is not looked at by then is undetermined, and not shrunk.
  double seconds = 120;
  std::string suite = "fuzz";  ///< name of the suite in reports
  /// Is told what is being done, "explaining failures of mine", before whatever takes long; may be empty.
  std::function<void(const std::string&)> progress = {};
};

/// Fills suites, hazards, backends, findings, single cases and times of the report. The backends are those of the
/// campaign, in its order.
void build_report(const CampaignAggregate& aggregate, std::vector<std::unique_ptr<Backend>>& backends,
                  const ReportOptions& options, Report& report);

}  // namespace qconform::campaign
