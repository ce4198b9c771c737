#include "harness/cli/campaign_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "harness/cli/output.h"
#include "harness/cli/report_output.h"
#include "harness/cli/rewritings.h"
#include "harness/engine/element_map.h"

namespace qconform::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFindingsShown = 4;

// Findings are numbered anew in every report: those of an earlier one with more of them are out of date.
void remove_later_findings(const fs::path& folder, std::size_t count) {
  std::error_code error;
  for (std::size_t number = count + 1;; ++number) {
    const std::string id = "F" + std::to_string(number);
    if (!fs::exists(folder / (id + ".json"), error)) return;
    for (const char* ending : {".json", ".onnx", ".original.json", "-related.json"})
      fs::remove(folder / (id + ending), error);
    fs::remove_all(folder / id, error);
  }
}

// `counts`: of each contract what contradicted it; none where no case was run.
std::vector<BackendContract> with_contradictions(std::vector<BackendContract> contracts,
                                                 const std::vector<BackendContract>& counts) {
  for (std::size_t i = 0; i < std::min(contracts.size(), counts.size()); ++i) {
    contracts[i].declined_inside = counts[i].declined_inside;
    contracts[i].taken_outside = counts[i].taken_outside;
    contracts[i].contradiction = counts[i].contradiction;
  }
  return contracts;
}

// Adds the graphs that backends make of the campaign's first graphs, whichever machine computed them.
void add_fusion(const campaign::ReportOptions& options, Report& report) {
  std::uint64_t cases = 0;
  for (const SuiteResult& suite : report.suites) cases += suite.cases;
  GraphSample graphs;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(cases, GraphSample::kMostCases); ++i) {
    graphs.add(options.case_at(i));
  }
  add_rewritings(graphs, false, options.judge.policy, report);
}

}  // namespace

Report new_campaign_report(const campaign::Identity& identity) {
  PolicyOptions policy;
  policy.profile = identity.profile;
  policy.overflow = identity.overflow;
  return new_report(policy, identity.seed, identity.command);
}

Report campaign_report(const campaign::CampaignSnapshot& snapshot, std::vector<std::unique_ptr<Backend>>& backends,
                       const campaign::ReportOptions& options) {
  Report report = new_campaign_report(snapshot.identity);
  campaign::build_report(snapshot.aggregate, backends, options, report);
  for (const campaign::KnownContracts& known : snapshot.identity.contracts) {
    auto& contracts = report.backends[known.backend].contracts;
    contracts = with_contradictions(described(known.models), contracts);
  }
  // Bounded by their size alone: with a bound on time, equal campaigns could have unequal reports.
  ElementMapsLimits limits;
  limits.seconds = std::numeric_limits<double>::infinity();
  add_element_maps(report, backends, options.judge.policy, limits);
  report.times.total = 0;  // counts the runs of the campaign, not its jobs
  for (const CampaignRun& run : snapshot.result.runs) report.times.total += run.seconds;
  report.campaign = snapshot.result;
  // A campaign that coverage guides has no blocks that another run would repeat.
  if (!report.campaign->engine) {
    report.campaign->timeline = snapshot.aggregate.timeline;
    add_fusion(options, report);
  }
  return report;
}

Result<void> write_campaign_report(const std::string& out, const Policy& policy, Report& report) {
  QCONFORM_TRY(write_report(out, policy, report));
  remove_later_findings(out, report.findings.size());
  return {};
}

Result<int> deliver_campaign(const std::string& out, const Policy& policy, const ReportForms& forms, Report& report) {
  auto code = deliver(out, policy, forms, report);
  for (const BackendResult& backend : report.backends) {
    print_note(contradiction_text(backend.info.name, backend.contracts));
  }
  if (code) remove_later_findings(out, report.findings.size());
  return code;
}

std::string brief_findings(const Report& report) {
  std::vector<const Finding*> ordered;
  for (const Finding& finding : report.findings) {
    if (!finding.waiver) ordered.push_back(&finding);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Finding* a, const Finding* b) { return a->cases > b->cases; });
  std::string text;
  for (std::size_t i = 0; i < std::min(ordered.size(), kFindingsShown); ++i) {
    const Finding& finding = *ordered[i];
    text += fmt::format("{}{} in {} {}", i == 0 ? "" : ", ", finding.signature, finding.op_type, finding.cases);
  }
  if (ordered.size() > kFindingsShown) text += fmt::format(", {} more", ordered.size() - kFindingsShown);
  return text;
}

}  // namespace qconform::cli
