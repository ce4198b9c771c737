#include "reports/render/brief_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/render/finding_text.h"
#include "reports/render/reasons_text.h"
#include "reports/render/terminal.h"

namespace qconform::report {
namespace {

constexpr int kNameWidth = 36;
constexpr int kCellWidth = 18;

// Padded before it is painted.
std::string cell(const BackendResult& backend, const std::string& op_type, const Painter& paint) {
  const auto found = backend.operators.find(op_type);
  if (found == backend.operators.end() || found->second.attempted() == 0) return fmt::format("{:>{}}", "-", kCellWidth);
  const OperatorResult& result = found->second;
  const std::uint64_t wrong = result.failing();
  const std::string text = fmt::format(
      "{:>{}}", with_thousands(result.count(VerdictKind::pass)) + " / " + with_thousands(wrong), kCellWidth);
  return wrong == result.waived_failing() ? text : paint.bad(text);
}

}  // namespace

std::string brief_table(const Report& report, const Painter& paint) {
  std::set<std::string> op_types;
  for (const BackendResult& backend : report.backends) {
    for (const auto& [op_type, result] : backend.operators) op_types.insert(op_type);
  }
  std::string text = fmt::format("{:<{}}", "right / wrong answers", kNameWidth);
  for (const std::string& op_type : op_types) text += fmt::format("{:>{}}", op_type, kCellWidth);
  text += "\n";
  for (const BackendResult& backend : report.backends) {
    text += fmt::format("{:<{}}", shown(backend.info.name) + " " + shown(backend.info.version), kNameWidth);
    for (const std::string& op_type : op_types) text += cell(backend, op_type, paint);
    text += "\n";
  }
  const auto waived = static_cast<std::uint64_t>(std::count_if(report.findings.begin(), report.findings.end(),
                                                               [](const Finding& f) { return f.waiver.has_value(); }));
  if (waived > 0) text += fmt::format("{} waived, with the reasons in the report\n", plural(waived, "known finding"));
  return text;
}

std::string finding_rows(const Report& report, const Painter& paint) {
  std::string text;
  for (const Finding& finding : report.findings) {
    if (finding.waiver) continue;
    const auto& worst = finding.verdict.worst;
    text += fmt::format("  {} {} {} on {}, {}: {}; {}\n", finding.id, paint.bad(std::string(name_of(finding.kind))),
                        finding.op_type, shown(finding.backend), plural(finding.cases, "case"),
                        shown(example_summary(finding)), worst ? element_text(*worst) : shown(finding.verdict.detail));
  }
  return text;
}

}  // namespace qconform::report
