// Tells what is new in a campaign since those before it, for the terminal and a mail.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>

#include "reports/gate/gate.h"
#include "reports/render/terminal.h"

namespace qconform::gate {
namespace {

// Causes of one state that are told in full, or in a line each.
constexpr std::size_t kShown = 20;

const Finding* finding_named(const Report& report, const std::string& id) {
  const auto found = std::find_if(report.findings.begin(), report.findings.end(),
                                  [&](const Finding& finding) { return finding.id == id; });
  return found == report.findings.end() ? nullptr : &*found;
}

// Whether waivers cover all findings of the cause.
bool is_waived(const ComparedCause& cause, const GateResult& comparison) {
  const bool is_gone = cause.findings.empty();
  const Report& report = is_gone ? comparison.baseline.report : comparison.current.report;
  const std::vector<std::string>& own = is_gone ? cause.findings_before : cause.findings;
  return !own.empty() && std::all_of(own.begin(), own.end(), [&](const std::string& id) {
    const Finding* finding = finding_named(report, id);
    return finding == nullptr || finding->waiver.has_value();
  });
}

std::map<CauseState, std::vector<const ComparedCause*>> by_state(const GateResult& comparison) {
  std::map<CauseState, std::vector<const ComparedCause*>> groups;
  for (const ComparedCause& cause : comparison.causes) {
    if (!is_waived(cause, comparison)) groups[cause.state].push_back(&cause);
  }
  return groups;
}

// "1 new cause, 17 met again, 3 not met"
std::string counts_of(const GateResult& comparison) {
  auto groups = by_state(comparison);
  std::string text = report::plural(groups[CauseState::appeared].size(), "new cause");
  if (comparison.baseline.file.empty()) return text;
  text += fmt::format(", {} met again, {} not met", groups[CauseState::stayed].size(), groups[CauseState::gone].size());
  const std::size_t not_tested = groups[CauseState::not_tested].size();
  return not_tested == 0 ? text : fmt::format("{}, {} not tested", text, not_tested);
}

std::string row_of(const ComparedCause& cause) {
  const std::string id = cause.findings.empty() ? "" : cause.findings.front() + " ";
  return fmt::format("{}{} {}: {}", id, shown(cause.known.backend), shown(cause.known.op_type),
                     shown(cause.known.text));
}

// Returns the facts of a cause that one needs to go on from a mail.
std::string facts_text(const ComparedCause& cause, const Report& report) {
  constexpr std::array<std::string_view, 8> kTold{"why",   "cured", "rewrites", "avoid",
                                                  "since", "what",  "place",    "replay"};
  const Finding* finding = finding_named(report, cause.findings.front());
  if (finding == nullptr) return {};
  std::string text;
  for (const report::Fact& fact : report::facts_of(*finding)) {
    const bool says_nothing = fact.label == "why" && fact.value == "unexplained";
    if (says_nothing || std::find(kTold.begin(), kTold.end(), fact.label) == kTold.end()) continue;
    text += fmt::format("  {:<9}{}\n", fact.label, shown(fact.value));
  }
  return text;
}

std::string section(const std::string& title, const std::vector<const ComparedCause*>& causes,
                    const std::function<std::string(const ComparedCause&)>& text_of) {
  if (causes.empty()) return {};
  std::string text = fmt::format("\n{}\n", title);
  for (std::size_t i = 0; i < std::min(causes.size(), kShown); ++i) text += text_of(*causes[i]);
  return causes.size() > kShown ? fmt::format("{}and {} more\n", text, causes.size() - kShown) : text;
}

// "12,288 cases in 41 s, seed 7; in 3 runs, 2 of which were killed"
std::string extent_text(const Report& report) {
  std::uint64_t cases = 0;
  for (const SuiteResult& suite : report.suites) cases += suite.cases;
  std::string text = fmt::format(
      "{}, seed {}", report::duration(report::plural(cases, "case") + " in", report.times.total), report.seed);
  if (!report.campaign || report.campaign->runs.size() < 2) return text;
  const auto& runs = report.campaign->runs;
  const auto killed = std::count_if(runs.begin(), runs.end(), [](const auto& run) { return run.ended == "running"; });
  return fmt::format("{}; in {} runs, {} of which {} killed", text, runs.size(), killed, killed == 1 ? "was" : "were");
}

}  // namespace

Result<GateResult> compare_campaign(std::optional<ReportSide> before, ReportSide current) {
  if (!before) {
    before = {.file = {}, .report = {}};
    before->report.profile = current.report.profile;
    before->report.overflow = current.report.overflow;
  }
  QCONFORM_ASSIGN(auto comparison, compare(std::move(*before), std::move(current), nullptr));
  // Two campaigns drew other cases, and as many as there was time for: that mends nothing and makes nothing worse.
  std::erase_if(comparison.changes, [](const Change& change) { return change.what != "new-finding"; });
  return comparison;
}

std::string news_text(const GateResult& comparison, const report::Painter& paint) {
  const auto row = [&](const ComparedCause& cause) {
    return fmt::format("  {} {}\n", paint.bad("new"), row_of(cause));
  };
  const std::string lines = section({}, by_state(comparison)[CauseState::appeared], row);
  return fmt::format("since the report of {}: {}{}", comparison.baseline.report.environment.started,
                     counts_of(comparison), lines.empty() ? "\n" : lines);
}

std::string subject_of(const GateResult& comparison) {
  const Report& report = comparison.current.report;
  std::string names;
  std::size_t count = 0;
  for (const BackendResult& backend : report.backends) {
    if (backend.conclusion() != report.conclusion()) continue;  // those that decided
    names += (count++ == 0 ? "" : ", ") + shown(backend.info.name);
  }
  constexpr std::size_t kMostBytes = 60;
  if (names.size() > kMostBytes) names = report::plural(count, "backend");
  return fmt::format("{}{}{}{}; {}", name_of(report.conclusion()), names.empty() ? "" : ": ", names,
                     report.stopped.empty() ? "" : ", stopped early", counts_of(comparison));
}

std::string to_mail(const GateResult& comparison) {
  const Report& report = comparison.current.report;
  const std::string& since = comparison.baseline.report.environment.started;
  auto groups = by_state(comparison);
  const auto full = [&](const ComparedCause& cause) { return row_of(cause) + "\n" + facts_text(cause, report); };
  const auto again = [&](const ComparedCause& cause) {
    return fmt::format("{}, first seen {}\n", row_of(cause), cause.known.first_seen);
  };
  const auto missing = [&](const ComparedCause& cause) {
    return fmt::format("{}, last seen {}\n", row_of(cause), cause.known.last_seen);
  };
  return fmt::format("Subject: qconform: {}\n\n{}{}\n", subject_of(comparison), report::conclusions(report, false),
                     extent_text(report)) +
         section(since.empty() ? "Causes" : "New since " + since, groups[CauseState::appeared], full) +
         section("Met again", groups[CauseState::stayed], again) +
         section("Not met", groups[CauseState::gone], missing) +
         section("Not tested", groups[CauseState::not_tested], missing) +
         fmt::format("\nreport {}\n", comparison.current.file);
}

}  // namespace qconform::gate
