// Waivers held against findings: by their names and conditions, or by the defects that explain them.
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/engine/findings.h"
#include "harness/engine/waivers.h"

namespace qconform {
namespace {

// The defects of a model as a finding's signature names them.
std::string signature_of(const diagnose::DefectModel& model) {
  std::string ids;
  for (const diagnose::Defect* defect : model.defects()) ids += (ids.empty() ? "" : "+") + std::string(defect->id);
  return ids;
}

// One cause gives wrong values in one case and a wrong shape in another.
bool is_of_kind(VerdictKind kind, VerdictKind other) {
  return kind == other || (has_wrong_output(kind) && has_wrong_output(other));
}

// Whether the waiver is of findings, and this is one of them.
bool names(const Waiver& waiver, const Finding& finding) {
  const auto& all = waiver.findings;
  if (finding.kind == VerdictKind::inconsistent) return false;  // of a relation
  return waiver.op_type == finding.op_type && is_of_kind(waiver.verdict, finding.kind) &&
         (!waiver.detail || *waiver.detail == finding.verdict.detail) &&
         std::find(all.begin(), all.end(), finding.signature) != all.end();
}

bool has_model_of(const Waiver& waiver, const Finding& finding) {
  return finding.diagnosis && finding.diagnosis->status == "explained" && waiver.instead.empty() &&
         (!waiver.detail || *waiver.detail == finding.verdict.detail) &&
         std::any_of(waiver.models.begin(), waiver.models.end(),
                     [&](const diagnose::DefectModel& model) { return signature_of(model) == finding.signature; });
}

// Whether the report shows that the waiver speaks of all of the finding: it names it, or one of its models computes it.
// Conditions of large outputs alone, or of some of the cases, say nothing of the others.
bool accounts_for(const Waiver& waiver, const Finding& finding) {
  const auto& diagnosis = finding.diagnosis;
  const auto is_met = [&](const std::string& condition) {
    return std::find(diagnosis->when.begin(), diagnosis->when.end(), condition) != diagnosis->when.end();
  };
  const bool is_of_all = diagnosis && diagnosis->examined == finding.cases;
  const bool lies_in = waiver.region.empty() || (is_of_all && diagnosis->when_elements == 0 &&
                                                 std::all_of(waiver.region.begin(), waiver.region.end(), is_met));
  return lies_in && (names(waiver, finding) || (is_of_all && has_model_of(waiver, finding)));
}

// Counts cases of a finding that is waived: first those of its example's verdict. A campaign tells how many there are
// by a sample: where every finding of the kind is waived, all of its cases are.
void count_waived(const Finding& finding, bool are_all, OperatorResult& result) {
  std::uint64_t left = finding.cases;
  const auto take = [&](VerdictKind kind) {
    std::uint64_t& waived = result.waived[static_cast<std::size_t>(kind)];
    const std::uint64_t more = result.count(kind) - std::min(result.count(kind), waived);
    const std::uint64_t taken = are_all ? more : std::min(more, left);
    waived += taken;
    left -= std::min(left, taken);
  };
  take(finding.kind);
  for (int kind = 0; kind < kVerdictKinds; ++kind) {
    if (is_of_kind(static_cast<VerdictKind>(kind), finding.kind)) take(static_cast<VerdictKind>(kind));
  }
}

void count_waived(const Finding& finding, Report& report) {
  for (BackendResult& backend : report.backends) {
    const auto found = backend.operators.find(finding.op_type);
    if (backend.info.name != finding.backend || found == backend.operators.end()) continue;
    const bool are_all = std::all_of(report.findings.begin(), report.findings.end(), [&](const Finding& other) {
      return other.backend != finding.backend || other.op_type != finding.op_type ||
             !is_of_kind(other.kind, finding.kind) || other.waiver || !other.met_while_shrinking.empty();
    });
    count_waived(finding, report.campaign && are_all && found->second.undetermined == 0, found->second);
  }
}

// Tells why a waiver does not cover a finding that it names; empty where it does.
std::string obstacle(const Waiver& waiver, const Finding& finding, const CasesOutside& outside) {
  if (waiver.region.empty()) return {};
  const RegionCheck check = outside ? outside(finding, waiver.region) : RegionCheck{};
  if (check.known == 0) return fmt::format("does not cover {}: what its cases have in common is not known", finding.id);
  if (check.outside == 0) return {};
  return fmt::format("does not cover {}: {} of its cases lie outside of the waiver's region ({})", finding.id,
                     check.outside, fmt::join(waiver.region, ", "));
}

// Tells of how many cases of a waived finding it is not known whether they lie in the region.
std::string unchecked_cases(const Waiver& waiver, const Finding& finding, const CasesOutside& outside) {
  if (waiver.region.empty() || !outside) return {};
  const RegionCheck check = outside(finding, waiver.region);
  if (check.known >= finding.cases) return {};
  return fmt::format("covers {} cases of {}, of which {} were checked against its region", finding.cases, finding.id,
                     check.known);
}

// Tells of conditions under which alone a waived finding fails, and which its waiver does not demand.
std::string unsaid_conditions(const Waiver& waiver, const Finding& finding) {
  if (!finding.diagnosis || finding.diagnosis->precision < 1 || finding.diagnosis->when_elements > 0) return {};
  std::vector<std::string> unsaid;
  for (const std::string& condition : finding.diagnosis->when) {
    const auto& said = waiver.region;
    if (std::find(said.begin(), said.end(), condition) == said.end()) unsaid.push_back(condition);
  }
  if (unsaid.empty()) return {};
  return fmt::format("covers more than was seen: {} fails only when {}", finding.id, fmt::join(unsaid, ", "));
}

// Describes what the waiver did of one backend's findings.
WaiverUse use_of(const Waiver& waiver, const BackendInfo& backend, const CasesOutside& outside, const Report& report) {
  WaiverUse use{.id = waiver.id, .backend = backend.name};
  std::vector<std::string> notes;
  for (const Finding& finding : report.findings) {
    if (finding.backend != backend.name) continue;
    std::string note;
    if (finding.waiver && finding.waiver->id == waiver.id) {
      use.cases += finding.cases;
      if (!waiver.findings.empty()) note = unsaid_conditions(waiver, finding);
      if (std::string unchecked = unchecked_cases(waiver, finding, outside); !unchecked.empty())
        note += (note.empty() ? "" : "; ") + unchecked;
    } else if (!finding.waiver && names(waiver, finding)) {
      note = obstacle(waiver, finding, outside);
    }
    if (!note.empty()) notes.push_back(std::move(note));
  }
  if (notes.empty() && use.cases == 0) notes.emplace_back(kWaivesNothing);
  use.note = fmt::format("{}", fmt::join(notes, "; "));
  return use;
}

}  // namespace

bool names_a_cause(std::string_view signature) {
  return !signature.starts_with(kUnexplained) && !verdict_named(signature);
}

std::vector<const Waiver*> Waivers::speaking_of(const BackendInfo& backend, const Finding& finding) const {
  std::vector<const Waiver*> result;
  for (const Waiver& waiver : waivers_) {
    const bool is_of_verdict =
        waiver.findings.empty() ? waiver.verdict == finding.kind : is_of_kind(waiver.verdict, finding.kind);
    if (waiver.op_type != finding.op_type || !is_of_verdict || !is_of(waiver, backend)) continue;
    if (finding.waiver ? finding.waiver->id == waiver.id : accounts_for(waiver, finding)) result.push_back(&waiver);
  }
  return result;
}

bool Waivers::may_cover(const BackendInfo& backend, const Case& test_case, const Verdict& verdict) const {
  return std::any_of(waivers_.begin(), waivers_.end(), [&](const Waiver& waiver) {
    return !waiver.findings.empty() && waiver.op_type == test_case.subject() &&
           is_of_kind(waiver.verdict, verdict.kind) && applies(waiver, backend);
  });
}

void waive_findings(const Waivers& waivers, const CasesOutside& outside, Report& report) {
  report.waivers.clear();
  for (const BackendResult& backend : report.backends) {
    for (const Waiver* waiver : waivers.of(backend.info)) {
      for (Finding& finding : report.findings) {
        if (finding.waiver || finding.backend != backend.info.name || !names(*waiver, finding)) continue;
        if (!obstacle(*waiver, finding, outside).empty()) continue;
        finding.waiver = WaivedBy{waiver->id, waiver->reason, waiver->reference};
        if (finding.met_while_shrinking.empty()) count_waived(finding, report);
      }
    }
  }
  for (const BackendResult& backend : report.backends) {
    for (const Waiver* waiver : waivers.of(backend.info)) {
      const auto asked = backend.operators.find(waiver->op_type);
      if (asked == backend.operators.end() || asked->second.cases() == 0) continue;
      report.waivers.push_back(use_of(*waiver, backend.info, outside, report));
    }
  }
}

}  // namespace qconform
