// The lines that a run ends with.
#include <fmt/format.h>

#include <algorithm>

#include "harness/forms/archive/report_archive.h"
#include "reports/render/finding_text.h"
#include "reports/render/run_tables.h"
#include "reports/render/terminal.h"

namespace qconform::report {
namespace {

// Why a backend comes to that, behind its name; empty where there is nothing to add.
std::string reason_for(const BackendResult& backend, Conclusion conclusion) {
  switch (conclusion) {
    case Conclusion::does_not_conform: {
      const std::string terms = looser_terms_of(backend);
      return terms.empty() ? "" : ": " + terms;
    }
    case Conclusion::judged_in_part: return ": " + backend.stopped;
    case Conclusion::not_fused:
      return backend.fusion->graphs == 0
                 ? ": it does not show what it computes"
                 : fmt::format(": it computes {} as stated", plural(backend.fusion->graphs, "graph"));
    case Conclusion::conforms:
    case Conclusion::agrees_in_part: {
      const std::string scope = scope_of(backend);
      return scope.empty() ? "" : " " + scope;
    }
    case Conclusion::too_few_nodes: return fmt::format(": --min-judged {}", *backend.min_judged);
    case Conclusion::nothing_judged: return ": " + why_not_judged(backend);
    case Conclusion::disputed: break;
  }
  return "";
}

std::string painted(Conclusion conclusion, bool counts, const std::string& text, const Painter& paint) {
  if (conclusion == Conclusion::conforms) return paint.good(text);
  return counts && conclusion != Conclusion::agrees_in_part ? paint.bad(text) : paint.aside(text);
}

std::string line_of(const BackendResult& backend, bool is_part, const Painter& paint) {
  const std::string name =
      shown(backend.info.name) + (backend.decides ? "" : ", not named with --backend and not counted");
  const Conclusion conclusion = backend.conclusion();
  const bool counts = backend.decides && !(is_part && conclusion == Conclusion::nothing_judged);
  return fmt::format("{}: {}{}\n", painted(conclusion, counts, conclusion_text(backend), paint), name,
                     shown(reason_for(backend, conclusion)));
}

// The run as a whole.
std::string line_of(const Report& report, const Painter& paint) {
  const Conclusion conclusion = report.conclusion();
  const std::string words = painted(conclusion, true, conclusion_text(report), paint);
  if (conclusion == Conclusion::disputed) {
    return words + ": a suite states what the rules do not admit: the suite or qconform is wrong\n";
  }
  std::size_t counted = 0;
  std::size_t alike = 0;
  for (const BackendResult& backend : report.backends) {
    counted += backend.decides ? 1 : 0;
    alike += backend.decides && backend.conclusion() == conclusion ? 1 : 0;
  }
  return fmt::format("{}: {} of {}\n", words, alike, plural(counted, "backend"));
}

}  // namespace

std::string conclusions(const Report& report, bool colour) {
  const Painter paint(colour);
  const bool is_part = report.campaign && report.campaign->is_part();
  std::string text;
  for (const BackendResult& backend : report.backends) text += line_of(backend, is_part, paint);
  const bool says_all = report.backends.size() == 1 && report.backends.front().decides &&
                        report.backends.front().conclusion() == report.conclusion();
  return says_all ? text : text + line_of(report, paint);
}

}  // namespace qconform::report
