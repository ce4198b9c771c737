#include "harness/model/operator.h"
#include "harness/tests/arbitrary_archive.h"

#include <rapidcheck.h>

#include <algorithm>

#include "harness/core/profile.h"
#include "harness/forms/archive/report_archive.h"

namespace qconform::testing {
namespace {

std::uint64_t count() {
  return ArbitraryArchive::count();
}
bool coin() {
  return ArbitraryArchive::coin();
}
std::size_t below(std::size_t limit) {
  return *rc::gen::inRange<std::size_t>(0, limit);
}

// Functions below bring members in line with each other that were invented one by one.

void make_consistent(TensorBox& box, std::int64_t least_extent) {
  box.shape.resize(std::min<std::size_t>(box.shape.size(), 3));
  box.begin.resize(box.shape.size());
  box.extent.resize(box.shape.size());
  std::size_t elements = 1;
  for (std::size_t d = 0; d < box.shape.size(); ++d) {
    box.begin[d] = box.begin[d] % 4;
    box.extent[d] = least_extent + box.extent[d] % 4;
    box.shape[d] = box.begin[d] + box.extent[d] + box.shape[d] % 4;
    elements *= static_cast<std::size_t>(box.extent[d]);
  }
  box.values.resize(elements, "7");
}

void make_consistent(std::optional<ElementMap>& map) {
  if (!map) return;
  make_consistent(map->got, 1);
  for (TensorBox& input : map->inputs) make_consistent(input, 0);
  const std::size_t elements = map->got.values.size();
  for (auto* texts : {&map->expected, &map->exact, &map->admissible}) texts->resize(elements, "8");
  for (std::size_t i = 0; i < elements; ++i) {
    if (coin()) map->admissible[i] = "{" + map->expected[i] + "}";
  }
  map->wrong.clear();
  for (std::size_t i = 0; i < elements; ++i) map->wrong.push_back(coin());
  if (!map->parameter.empty()) map->parameter.resize(elements, 3);
}

// A summary that is empty is made of the case, which reading does not bring back.
void make_consistent(std::string& summary) {
  summary = "x " + summary;
}

void make_consistent(Finding& finding) {
  make_consistent(finding.example_summary);
  make_consistent(finding.element_map);
  if (finding.related_file.empty()) finding.related.clear();
  if (finding.representative) {
    make_consistent(finding.representative->summary);
    make_consistent(finding.representative->element_map);
  }
  if (!finding.shrinking) return;
  Shrinking& shrinking = *finding.shrinking;
  if (coin()) shrinking = {.ending = shrinking.ending, .runs = shrinking.runs, .seconds = shrinking.seconds};
  if (shrinking.steps == 0) {
    shrinking.original = {};
    shrinking.original_summary.clear();
    shrinking.original_file.clear();
    shrinking.element_map.reset();
    return;
  }
  make_consistent(shrinking.original_summary);
  make_consistent(shrinking.element_map);
}

void make_consistent(OperatorResult& result) {
  for (std::size_t kind = 0; kind < result.verdicts.size(); ++kind) {
    result.waived[kind] = std::min(result.waived[kind], result.verdicts[kind]);
  }
  if (result.tiers.elements() == 0) result.tiers = {};
  if (result.errors.incomparable == 0) result.errors = {};
  for (std::size_t i = below(3); i > 0; --i) {
    result.errors.low[below(ErrorHistogram::kBins)] = 1 + count();
    result.errors.high[below(ErrorHistogram::kBins)] = 1 + count();
  }
}

void make_consistent(BackendResult& backend) {
  for (auto& [op_type, result] : backend.operators) make_consistent(result);
  if (backend.relations.empty()) backend.failed_bases = 0;
}

CornerCaseCoverage arbitrary_coverage() {
  CornerCaseCoverage result;
  for (const std::string_view op_type : operator_names()) {
    if (!coin()) continue;
    result.note(std::string(op_type));
    for (const CornerCaseInfo& info : corner_cases()) {
      if (!concerns(info, op_type) || !coin()) continue;
      CornerCaseCoverage::Totals totals{};
      totals[static_cast<std::size_t>(info.corner_case)] = {1 + count(), 1 + count()};
      result.add(std::string(op_type), coin() ? "uint8 int8 uint8" : "int8", totals);
    }
  }
  return result;
}

void make_consistent(CampaignResult& campaign) {
  for (CampaignResult::Range& range : campaign.blocks) {
    range.first = count();
    range.end = range.first + 1 + count();
  }
  CampaignTimeline& timeline = campaign.timeline;
  if (timeline.groups.empty()) timeline = {};
  timeline.group_blocks = std::uint64_t{1} << (timeline.groups.empty() ? 0 : below(40));
  std::uint64_t next = 0;
  for (CampaignTimeline::Group& group : timeline.groups) {
    next += 1 + count();
    group.first = next * timeline.group_blocks;
  }
  for (CampaignTimeline::Reached& reached : timeline.corner_cases)
    reached.corner_case = corner_cases()[below(kCornerCases)].id;
}

CaseResult::OfBackend arbitrary_outcome(const ArbitraryArchive& archive) {
  CaseResult::OfBackend result;
  result.verdict = static_cast<VerdictKind>(below(kVerdictKinds));
  if (coin()) result.tier = reference::kAllTiers[below(std::size(reference::kAllTiers))];
  if (has_reason(result.verdict)) result.reason = archive.text();
  if (!is_failure(result.verdict)) return result;
  result.wrong_elements = count();
  result.finding = archive.text();
  return result;
}

CaseResults arbitrary_results(const ArbitraryArchive& archive, std::size_t backends) {
  CaseResults result{.rows = {}, .cases = count(), .failing = count()};
  for (std::size_t rows = below(5); rows > 0; --rows) {
    CaseResult& row =
        result.rows.emplace_back(CaseResult{archive.text(), archive.text(), archive.text(), archive.text(), {}});
    for (std::size_t i = 0; i < backends; ++i) row.backends.push_back(arbitrary_outcome(archive));
  }
  return result;
}

}  // namespace

Report arbitrary_report(Texts texts) {
  ArbitraryArchive archive(texts);
  Report report;
  describe(archive, report, FieldRule{});
  report.corner_cases = arbitrary_coverage();
  for (BackendResult& backend : report.backends) make_consistent(backend);
  for (Finding& finding : report.findings) make_consistent(finding);
  if (report.campaign) make_consistent(*report.campaign);
  report.results.reset();
  if (coin()) report.results = arbitrary_results(archive, report.backends.size());
  return report;
}

}  // namespace qconform::testing
