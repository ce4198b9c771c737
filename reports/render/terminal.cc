#include "reports/render/terminal.h"

#include <fmt/color.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "reports/render/finding_text.h"

namespace qconform::report {
namespace {

class Painter {
 public:
  explicit Painter(bool colour) : colour_(colour) {}
  [[nodiscard]] std::string good(const std::string& text) const { return paint(text, fmt::terminal_color::green); }
  [[nodiscard]] std::string bad(const std::string& text) const { return paint(text, fmt::terminal_color::red); }
  [[nodiscard]] std::string aside(const std::string& text) const { return paint(text, fmt::terminal_color::yellow); }

 private:
  [[nodiscard]] std::string paint(const std::string& text, fmt::terminal_color colour) const {
    return colour_ ? fmt::format(fmt::fg(colour), "{}", text) : text;
  }
  bool colour_;
};

// Reasons are other people's sentences: what is cut off here stands in the report.
std::string shortened(const std::string& reason) {
  constexpr std::size_t kLongest = 60;
  return reason.size() <= kLongest ? reason : reason.substr(0, kLongest) + "...";
}

struct ReasonGroup {
  std::string reason;
  std::uint64_t count = 0;
  std::size_t kinds = 0;
};

// By what stands before the colon of a reason, the most frequent first.
std::vector<ReasonGroup> grouped(const std::map<std::string, std::uint64_t>& counts) {
  std::map<std::string, ReasonGroup> by_start;
  for (const auto& [reason, count] : counts) {
    const std::string start = reason.substr(0, reason.find(": "));
    ReasonGroup& group = by_start[start];
    group.reason = start;
    group.count += count;
    ++group.kinds;
  }
  std::vector<ReasonGroup> groups;
  for (auto& [start, group] : by_start) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const ReasonGroup& a, const ReasonGroup& b) { return a.count > b.count; });
  return groups;
}

// What was left aside: "not quantized 811 (156 kinds)", and the number of what is too rare to be listed. A
// reason that is the only one goes without its number where the total stands beside it.
std::string listed(const std::map<std::string, std::uint64_t>& counts, bool is_total_known = false) {
  constexpr std::size_t kMost = 4;
  const std::vector<ReasonGroup> groups = grouped(counts);
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), kMost); ++i) {
    text += (text.empty() ? "" : ", ") + shortened(groups[i].reason);
    if (groups.size() > 1 || !is_total_known) text += " " + with_thousands(groups[i].count);
    if (groups[i].kinds > 1) text += fmt::format(" ({} kinds)", groups[i].kinds);
  }
  if (groups.size() <= kMost) return text;
  std::uint64_t rest = 0;
  for (std::size_t i = kMost; i < groups.size(); ++i) rest += groups[i].count;
  return text + fmt::format(", {} for {} other reasons", with_thousands(rest), groups.size() - kMost);
}

// "sweep: 4,213 cases cover 182,340 of 182,340 feasible triples (strength 3)", and a line for each model.
std::string coverage_lines(const SuiteResult& suite, const Painter& paint) {
  CombinationCoverage all;
  std::string parts;
  for (const CombinationCoverage& part : suite.coverage) {
    all.strength = part.strength;
    all.cases += part.cases;
    all.covered += part.covered;
    all.feasible += part.feasible;
    parts +=
        fmt::format("    {:<17} {:>3} parameters, {:>3} classes: {} cases, {} of {} triples; {} proved infeasible\n",
                    part.model, part.parameters, part.classes, with_thousands(part.cases), with_thousands(part.covered),
                    with_thousands(part.feasible), with_thousands(part.infeasible));
  }
  const std::string covered = fmt::format("{} of {}", with_thousands(all.covered), with_thousands(all.feasible));
  return fmt::format("  {}: {} cases cover {} feasible triples (strength {})\n", suite.name, with_thousands(all.cases),
                     all.covered == all.feasible ? paint.good(covered) : paint.bad(covered), all.strength) +
         parts;
}

std::string suite_lines(const SuiteResult& suite, const Painter& paint) {
  std::string text = fmt::format("suite {:<28} {:>10} cases   digest {:016x}\n", suite.name,
                                 with_thousands(suite.cases), suite.digest);
  if (!suite.coverage.empty()) text += coverage_lines(suite, paint);
  if (suite.exact_ties + suite.near_ties > 0) {
    text += fmt::format("  of {} elements {} on an exact tie, {} near one\n", with_thousands(suite.elements),
                        with_thousands(suite.exact_ties), with_thousands(suite.near_ties));
  }
  if (!suite.skipped.empty()) text += fmt::format("  left aside, not cases: {}\n", listed(suite.skipped));
  for (const std::string& dispute : suite.disputed) text += "  " + paint.aside("disputed") + " " + dispute + "\n";
  return text;
}

// "tier F_5 (E 1,204,331, F_5 17)"
std::string tier_text(const TierTally& tally, const Painter& paint) {
  std::string counts;
  for (const reference::Tier tier : reference::kAllTiers) {
    const std::uint64_t count = tally.by_tier[static_cast<std::size_t>(tier)];
    if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", name_of(tier), with_thousands(count));
  }
  if (tally.none > 0) counts += fmt::format("{}none {}", counts.empty() ? "" : ", ", with_thousands(tally.none));
  const auto reached = tally.common.strictest();
  const std::string name = reached ? paint.good(std::string(name_of(*reached))) : paint.bad("none");
  return fmt::format("   tier {} ({})", name, counts);
}

// " (all elements are alike 64, nearly all elements saturate 11)", " (61 waived)"
std::string reasons_text(VerdictKind kind, const OperatorResult& result) {
  const std::uint64_t waived = result.waived[static_cast<std::size_t>(kind)];
  if (waived > 0) return " (" + with_thousands(waived) + " waived)";
  if (kind == VerdictKind::mistrusted) return " (" + listed(result.mistrusted_reasons, true) + ")";
  if (kind == VerdictKind::unsupported) return " (" + listed(result.unsupported_reasons, true) + ")";
  return "";
}

std::string operator_line(const std::string& name, const OperatorResult& result, const Painter& paint) {
  std::string text = fmt::format("  {:<17}", name);
  for (int i = 0; i < kVerdictKinds; ++i) {
    const auto kind = static_cast<VerdictKind>(i);
    if (result.count(kind) == 0) continue;
    const std::string entry = fmt::format("{:>10} {}", with_thousands(result.count(kind)), name_of(kind));
    text += kind == VerdictKind::pass ? paint.good(entry) : is_failure(kind) ? paint.bad(entry) : paint.aside(entry);
    text += reasons_text(kind, result);
  }
  if (result.tiers.elements() > 0) text += tier_text(result.tiers, paint);
  return text + "\n";
}

std::string backend_lines(const BackendResult& backend, const Painter& paint) {
  const std::string name = fmt::format("{} {} ({})", backend.info.name, backend.info.version, backend.info.kind);
  std::string text =
      fmt::format("{:<34} {:>10} cases in {}\n", name, with_thousands(backend.cases()), duration(backend.seconds));
  for (const auto& [op_type, result] : backend.operators) text += operator_line(op_type, result, paint);
  if (backend.cases() > 0 && backend.count(VerdictKind::pass) == 0) {
    text += "  " + paint.bad("nothing passed") + ": no case was computed\n";
  }
  return text;
}

// Up to this many hazards are shown with their counts, in the list's order; the JSON report has all.
constexpr std::size_t kShownHazards = 6;

// "hazards reached 27 of 31: positive ties 1,904, ..." and those that were not.
std::string hazard_lines(const HazardCoverage& coverage, const Painter& paint) {
  std::vector<std::string> reached;
  std::vector<std::string_view> missed;
  for (const HazardInfo& info : hazards()) {
    if (!coverage.is_applicable(info.hazard)) continue;
    const HazardTally tally = coverage.total(info.hazard);
    if (tally.cases == 0) {
      missed.push_back(info.id);
    } else {
      reached.push_back(fmt::format("{} {}", info.label, with_thousands(tally.elements)));
    }
  }
  if (reached.empty() && missed.empty()) return "";
  std::string text = fmt::format("hazards reached {} of {}", reached.size(), reached.size() + missed.size());
  const bool all_shown = reached.size() <= kShownHazards;
  if (!all_shown) reached.resize(kShownHazards);
  if (!reached.empty()) text += fmt::format(": {}{}", fmt::join(reached, ", "), all_shown ? "" : " ...");
  text += "\n";
  if (!missed.empty()) text += fmt::format("  {} {}\n", paint.aside("not reached:"), fmt::join(missed, ", "));
  return text;
}

// One row for each relation; what never happened is left out.
std::string relation_lines(const BackendResult& backend, const Painter& paint) {
  if (backend.relations.empty()) return "";
  std::string text = fmt::format("{:<34} relations between its own answers\n", backend.info.name);
  for (const RelationResult& relation : backend.relations) {
    text += fmt::format("  {:<26} {:>9} held", relation.id, with_thousands(relation.held));
    if (relation.broken > 0) text += "  " + paint.bad(with_thousands(relation.broken) + " broken");
    if (relation.failed > 0) text += "  " + paint.bad(with_thousands(relation.failed) + " failed");
    if (relation.latitude > 0) text += "  " + paint.aside(with_thousands(relation.latitude) + " skipped for latitude");
    if (relation.refused > 0) text += "  " + with_thousands(relation.refused) + " refused";
    text += "  " + with_thousands(relation.not_applicable) + " not applicable\n";
  }
  if (backend.failed_bases > 0) text += "  " + paint.bad(plural(backend.failed_bases, "base case")) + " failed\n";
  return text;
}

std::string finding_lines(const Finding& finding, const Painter& paint) {
  std::string text =
      fmt::format("  {} {}{}   {} on {}   {}\n", finding.id, paint.bad(std::string(name_of(finding.kind))),
                  subject_of(finding), finding.op_type, finding.backend, cases_text(finding));
  for (const Fact& fact : facts_of(finding)) text += fmt::format("    {:<9} {}\n", fact.label, fact.value);
  return text;
}

// What a waiver covers, one line each: there is nothing to find out.
std::string waived_lines(const Report& report) {
  std::string text;
  for (const Finding& finding : report.findings) {
    if (!finding.waiver) continue;
    text += fmt::format("  {} {}   {} on {}   {}   {}: {} ({})\n", finding.id, name_of(finding.kind), finding.op_type,
                        finding.backend, plural(finding.cases, "case"), finding.waiver->id, finding.waiver->reason,
                        finding.waiver->reference);
  }
  return text.empty() ? text : "\nwaived, known discrepancies\n" + text;
}

// Where one of several backends fails, those that do not are told too.
std::string conclusion(const Report& report, const Painter& paint) {
  std::vector<std::string> good;
  std::vector<std::string> bad;
  std::vector<std::string> told;
  for (const BackendResult& backend : report.backends) {
    (backend.conforms() ? good : backend.decides ? bad : told).push_back(backend.info.name);
  }
  std::string text;
  if (!good.empty()) text += fmt::format("{}: {}\n", paint.good("conforms"), fmt::join(good, ", "));
  if (!bad.empty()) text += fmt::format("{}: {}\n", paint.bad("does not conform"), fmt::join(bad, ", "));
  if (!told.empty()) {
    text += fmt::format("{}: {}, not named with --backend and not counted\n", paint.aside("does not conform"),
                        fmt::join(told, ", "));
  }
  return text;
}

std::string stage_line(const Report& report) {
  const StageTimes& times = report.times;
  std::uint64_t cases = 0;
  for (const SuiteResult& suite : report.suites) cases += suite.cases;
  std::string text =
      fmt::format("stages: generate {}, reference {}, survey {}, backends {}, judge {}", duration(times.generate),
                  duration(times.reference), duration(times.survey), duration(times.backend), duration(times.judge));
  if (times.diagnose >= 0.1) text += fmt::format(", diagnose {}", duration(times.diagnose));
  if (times.total > 1) {
    const auto rate = static_cast<std::uint64_t>(static_cast<double>(cases) / times.total);
    text += fmt::format("   {} cases/s", with_thousands(rate));
  }
  return text + "\n";
}

}  // namespace

std::string with_thousands(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string plural(std::uint64_t count, const std::string& noun) {
  return with_thousands(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string duration(double seconds) {
  return seconds < 0.1 ? fmt::format("{:.0f} ms", seconds * 1000) : fmt::format("{:.1f} s", seconds);
}

std::string element_text(const ElementReport& element) {
  return fmt::format("y[{}] got {}, {}admissible {}", fmt::join(element.index, ","), element.got,
                     element.exact.empty() ? "" : "exact " + element.exact + ", ", element.admissible);
}

std::string headline(const Report& report) {
  std::string text = fmt::format("qconform {}   seed {}   kernels {}   profile {}\n", report.environment.version,
                                 report.seed, fmt::join(report.environment.kernels, " "), report.profile);
  if (!report.environment.kernels_not_run.empty()) {
    text += fmt::format("not run, this CPU lacks them: {}\n", fmt::join(report.environment.kernels_not_run, " "));
  }
  return text;
}

std::string summary(const Report& report, bool colour) {
  const Painter paint(colour);
  std::string text;
  for (const SuiteResult& suite : report.suites) text += suite_lines(suite, paint);
  for (const BackendResult& backend : report.backends) {
    if (backend.cases() > 0 || backend.relations.empty()) text += backend_lines(backend, paint);
    text += relation_lines(backend, paint);
  }
  text += hazard_lines(report.hazards, paint);
  text += stage_line(report);
  std::string findings;
  std::size_t count = 0;
  for (const Finding& finding : report.findings) {
    if (finding.waiver) continue;
    ++count;
    findings += finding_lines(finding, paint);
  }
  text += waived_lines(report);
  if (report.findings.empty()) {
    text += report.conforms() ? paint.good("conforms") + ": no finding\n" : paint.bad("does not conform") + "\n";
    return text;
  }
  text +=
      "\n" + plural(count, "finding") + (count == report.findings.size() ? "" : " beyond the waived") + "\n" + findings;
  return text + "\n" + conclusion(report, paint);
}

}  // namespace qconform::report
