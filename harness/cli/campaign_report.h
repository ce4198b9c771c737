// Makes the report and the files of a campaign from its aggregate, for `fuzz` and `report merge`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/campaign/build_report.h"
#include "harness/cli/report_output.h"
#include "harness/report/report.h"

namespace qconform::cli {

/// Makes an empty report of that campaign.
[[nodiscard]] Report new_campaign_report(const campaign::Identity& identity);

/// Makes a report of the snapshot: what its blocks found, with findings explained and shrunk.
[[nodiscard]] Report campaign_report(const campaign::CampaignSnapshot& snapshot,
                                     std::vector<std::unique_ptr<Backend>>& backends,
                                     const campaign::ReportOptions& options);

/// Writes findings and report.json, and removes what an earlier report of the folder had beyond these.
[[nodiscard]] Result<void> write_campaign_report(const std::string& out, const Policy& policy, Report& report);

/// Writes the report as write_campaign_report() does, and prints the summary as deliver() does; returns the exit code.
[[nodiscard]] Result<int> deliver_campaign(const std::string& out, const Policy& policy, const ReportForms& forms,
                                           Report& report);

/// "pad-raw-zero in QLinearConv 120, crashed in ConvInteger 3": the findings that no waiver covers, the commonest ones,
/// for a progress line.
[[nodiscard]] std::string brief_findings(const Report& report);

}  // namespace qconform::cli
