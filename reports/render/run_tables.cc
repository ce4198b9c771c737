#include "reports/render/terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "harness/base/text.h"
#include "harness/model/operator.h"

namespace qconform::report {
namespace {

// Widths of the columns of backend_table().
struct TableWidths {
  int name;  ///< width of the first column
  int right;
  int wrong;
  int refused;
  int declined;
  int vacuous;

  [[nodiscard]] int all() const { return name + right + wrong + refused + declined + vacuous; }
};

constexpr TableWidths kWide{34, 11, 9, 10, 10, 12};
constexpr TableWidths kNarrow{18, 10, 8, 9, 10, 12};
constexpr int kTierWidth = 12;  // "   tier none"

// Null where a table does not fit at all.
const TableWidths* widths_for(std::size_t columns) {
  for (const TableWidths* widths : {&kWide, &kNarrow}) {
    if (columns == 0 || static_cast<std::size_t>(widths->all() + kTierWidth) <= columns) return widths;
  }
  return nullptr;
}

// "E", and in full "F_5 (E 1,204,331, F_5 17)"
std::string tier_text(const TierCounts& tiers, const Painter& paint, bool verbose) {
  const auto reached = tiers.common.strictest();
  const std::string name = reached ? paint.good(std::string(name_of(*reached))) : paint.bad("none");
  if (!verbose) return "   tier " + name;
  std::string counts;
  for (const reference::Tier tier : reference::kAllTiers) {
    const std::uint64_t count = tiers.by_tier[static_cast<std::size_t>(tier)];
    if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", name_of(tier), with_thousands(count));
  }
  if (tiers.none > 0) counts += fmt::format("{}none {}", counts.empty() ? "" : ", ", with_thousands(tiers.none));
  return fmt::format("   tier {} ({})", name, counts);
}

// "wrong 9, crashed 3 (2 waived)"
std::string failures_text(const OperatorResult& result) {
  std::string text;
  for (int i = 0; i < kVerdictKinds; ++i) {
    const auto kind = static_cast<VerdictKind>(i);
    if (!is_failure(kind) || result.count(kind) == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(kind), with_thousands(result.count(kind)));
    const std::uint64_t waived = result.waived[static_cast<std::size_t>(kind)];
    if (waived > 0) text += fmt::format(" ({} waived)", with_thousands(waived));
  }
  return text;
}

std::string note(const char* label, const std::string& text) {
  return text.empty() ? text : fmt::format("    {:<11} {}\n", label, text);
}

std::string not_implemented(const OperatorResult& result, const Painter& paint) {
  const std::uint64_t declined = result.count(VerdictKind::unsupported);
  const std::uint64_t accepted = result.count(VerdictKind::not_rejected);
  if (result.count(VerdictKind::not_judged) == result.cases()) return paint.aside("not judged");
  std::string text = paint.aside("not implemented");
  // Declined, refused or accepted nothing: there were no such cases, or none was sent.
  if (declined == 0) text = paint.aside("no valid case sent");
  if (declined > 0) text += fmt::format(": {} declined", plural(declined, "valid case"));
  text += fmt::format(", {} rightly refused", with_thousands(result.count(VerdictKind::refused)));
  if (accepted > 0) text += ", " + paint.bad(with_thousands(accepted) + " accepted that the document forbids");
  return text;
}

// Padded before it is painted.
std::string cell(std::uint64_t count, int width, std::string (Painter::*colour)(const std::string&) const,
                 const Painter& paint) {
  const std::string text = fmt::format("{:>{}}", with_thousands(count), width);
  return count == 0 ? text : (paint.*colour)(text);
}

std::string reasons_note(const char* what, const Counts& reasons, bool verbose) {
  constexpr std::size_t kMost = 4;
  if (!verbose && reasons.size() == 1) return note(what, shown(reasons.begin()->first));  // the table has the count
  std::string text;
  for (const std::string& line : reason_lines(reasons, verbose, kMost)) text += note(what, line);
  return text;
}

// "QLinearConv       1,204        3 ...", or in words what a table has no room for.
std::string count_columns(const OperatorResult& result, const TableWidths* widths, const Painter& paint) {
  struct CountColumn {
    const char* name;
    std::uint64_t count;
    int width;
    std::string (Painter::*colour)(const std::string&) const;
  };
  const TableWidths w = widths == nullptr ? TableWidths{} : *widths;
  const CountColumn columns[] = {
      {"right", result.count(VerdictKind::pass), w.right, &Painter::good},
      {"wrong", result.failing(), w.wrong, &Painter::bad},
      {"refused", result.count(VerdictKind::refused), w.refused, nullptr},
      {"declined", result.count(VerdictKind::unsupported), w.declined, &Painter::aside},
      {"vacuous", result.count(VerdictKind::vacuous), w.vacuous, &Painter::aside},
  };
  std::string text;
  for (const CountColumn& column : columns) {
    if (widths == nullptr && column.count == 0) continue;
    const std::string number = column.colour == nullptr
                                   ? fmt::format("{:>{}}", with_thousands(column.count), column.width)
                                   : cell(column.count, column.width, column.colour, paint);
    if (widths == nullptr) text += text.empty() ? "  " : ", ";
    text += widths == nullptr ? fmt::format("{} {}", column.name, number) : number;
  }
  return text;
}

// Refused or computed, but of an operator that qconform does not know or beyond its limits.
std::string not_judged_note(const OperatorResult& result, bool verbose) {
  if (result.count(VerdictKind::not_judged) == 0) return "";
  return reasons_note("not judged", result.not_judged_reasons, verbose);
}

std::string operator_rows(const std::string& name, const OperatorResult& result, const std::string& why_not_asked,
                          const Painter& paint, bool verbose, const TableWidths* widths) {
  std::string text = fmt::format("  {:<{}}", shown(name), widths == nullptr ? 0 : widths->name - 2);
  if (result.attempted() == 0) {
    text += "   " + not_implemented(result, paint) + "\n";
  } else {
    text += count_columns(result, widths, paint);
    if (result.tiers.elements() > 0) text += tier_text(result.tiers, paint, verbose);
    text += "\n" + note("wrong", failures_text(result)) + note("", undetermined_text(result.undetermined));
  }
  if (const std::uint64_t count = result.count(VerdictKind::not_asked); count > 0) {
    text += note("not asked", plural(count, "case") + why_not_asked);
  }
  return text + reasons_note("declined", result.unsupported_reasons, verbose) +
         reasons_note("vacuous", result.vacuous_reasons, verbose) + not_judged_note(result, verbose);
}

// "corner cases in computed cases 24 of 52": of those that concern the operators that it was asked for.
std::string corner_cases_line(const BackendResult& backend) {
  std::size_t applicable = 0;
  std::size_t computed = 0;
  for (const CornerCaseInfo& info : corner_cases()) {
    const auto is_concerned = [&](const auto& named) { return concerns(info, named.first); };
    const auto computes = [&](const auto& named) { return named.second.corner_cases.contains(std::string(info.id)); };
    applicable += std::any_of(backend.operators.begin(), backend.operators.end(), is_concerned) ? 1 : 0;
    computed += std::any_of(backend.operators.begin(), backend.operators.end(), computes) ? 1 : 0;
  }
  return applicable == 0 ? "" : fmt::format("  corner cases in computed cases {} of {}\n", computed, applicable);
}

// "triples in computed cases 1,204 of 279,739; ties 80, near 1,300"
std::string ties_line(const BackendResult& backend) {
  std::uint64_t covered = 0;
  std::uint64_t feasible = 0;
  for (const CombinationCoverage& part : backend.coverage) {
    if (part.strength != 3) continue;
    covered += part.covered;
    feasible += part.feasible;
  }
  std::uint64_t exact = 0;
  std::uint64_t near = 0;
  for (const auto& [op_type, result] : backend.operators) {
    exact += result.exact_ties;
    near += result.near_ties;
  }
  std::string text = fmt::format("  elements in computed cases {} on an exact tie, {} near one\n",
                                 with_thousands(exact), with_thousands(near));
  if (feasible > 0) {
    text += fmt::format("  triples in computed cases {} of {}\n", with_thousands(covered), with_thousands(feasible));
  }
  return text;
}

std::string code_line(const ExecutedCode& code) {
  return fmt::format("  executes {} of {} edges of its code (qconform cover says which it does not)\n",
                     with_thousands(code.executed), with_thousands(code.edges));
}

// ": QLinearConv 98, QLinearAdd 30", the most frequent first, up to kShownCounts unless all are wanted; empty of none.
std::string counts_text(const FusionCounts::ByOperator& counts, bool all) {
  constexpr std::size_t kShownCounts = 12;
  std::vector<std::pair<std::string, std::uint64_t>> operators(counts.begin(), counts.end());
  std::stable_sort(operators.begin(), operators.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  const char* separator = ": ";
  std::uint64_t others = 0;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const auto& [name, count] = operators[i];
    if (all || i < kShownCounts) {
      text += fmt::format("{}{} {}", std::exchange(separator, ", "), shown(name), with_thousands(count));
    } else {
      others += count;
    }
  }
  if (others > 0) text += fmt::format(", {} of other kinds (--verbose lists them)", with_thousands(others));
  return text;
}

// "rewritten 120 of 500 graphs: QLinearConv 98, QLinearAdd 30", what left them, and what stays in float.
std::string fusion_lines(const FusionCounts& fusion, bool verbose) {
  if (fusion.graphs == 0) return "";
  std::string text = fmt::format("  rewritten {} of {}{}\n", with_thousands(fusion.fused),
                                 plural(fusion.graphs, "graph"), counts_text(fusion.operators, verbose));
  if (!fusion.dropped.empty()) text += "  nodes that left" + counts_text(fusion.dropped, verbose) + "\n";
  if (!fusion.in_float.empty()) text += "  nodes that stay in float" + counts_text(fusion.in_float, verbose) + "\n";
  return text;
}

}  // namespace

std::string Painter::verdict(VerdictKind kind) const {
  const std::string name(name_of(kind));
  if (is_failure(kind)) return bad(name);
  return kind == VerdictKind::pass ? good(name) : aside(name);
}

// Runs that count for nothing, since nothing shows that the backend ended them.
std::string lost_lines(const BackendResult& backend, const Painter& paint) {
  std::string text;
  for (const auto& [how, count] : backend.lost) {
    text += fmt::format("  {}: {} {}; judged by a second run\n", paint.aside("lost"), plural(count, "run"), shown(how));
  }
  if (!text.empty()) text += fmt::format("    {}\n", shown(fmt::format("{}", fmt::join(backend.lost_cases, "; "))));
  return text;
}

std::string backend_table(const Report& report, const Painter& paint, bool verbose, std::size_t columns) {
  const TableWidths* widths = widths_for(columns);
  std::string text;
  for (const BackendResult& backend : report.backends) {
    if (backend.cases() == 0 && !backend.relations.empty()) continue;
    if (text.empty() && widths != nullptr) {
      text = fmt::format("{:<{}}{:>{}}{:>{}}{:>{}}{:>{}}{:>{}}\n", "cases by operator", widths->name, "right",
                         widths->right, "wrong", widths->wrong, "refused", widths->refused, "declined",
                         widths->declined, "vacuous", widths->vacuous);
    }
    const std::string name =
        fmt::format("{} {} ({})", shown(backend.info.name), shown(backend.info.version), shown(backend.info.kind));
    const std::string share =
        fmt::format("{}, {}", plural(backend.cases(), "case"),
                    duration(report.campaign ? "backend, all jobs together," : "backend", backend.seconds));
    const bool fits = columns == 0 || columns_of(name) + 3 + share.size() <= columns;
    text += name + (fits ? "   " : "\n  ") + share + "\n";
    for (const std::string& subject : backend.info.not_offered) text += "  not offered: " + shown(subject) + "\n";
    if (verbose && !backend.info.pinned.empty()) {
      text += fmt::format("  pinned: {}\n", shown(fmt::format("{}", fmt::join(backend.info.pinned, ", "))));
    }
    if (!backend.stopped.empty()) text += "  " + paint.bad("stopped") + ": " + shown(backend.stopped) + "\n";
    text += lost_lines(backend, paint);
    const std::string why_not_asked =
        !backend.stopped.empty() ? " after it was stopped" : " out of contract: refusing was not judged (@valid-only)";
    for (const auto& [op_type, result] : backend.operators) {
      text += operator_rows(op_type, result, why_not_asked, paint, verbose, widths);
    }
    const std::uint64_t declined = backend.count(VerdictKind::unsupported) + backend.count(VerdictKind::refused_here);
    if (!backend.info.siblings.empty() && declined > 0) {
      text += fmt::format("  {} that it declined: run on {} too\n", plural(declined, "case"),
                          shown(fmt::format("{}", fmt::join(backend.info.siblings, ", "))));
    }
    if (backend.code) text += code_line(*backend.code);
    if (backend.power) text += power_lines(*backend.power, "  ");
    if (backend.fusion) text += fusion_lines(*backend.fusion, verbose);
    if (verbose) text += corner_cases_line(backend) + ties_line(backend);
  }
  return text;
}

std::string power_lines(const DetectionPower& power, std::string_view indent) {
  constexpr std::size_t kNamed = 2;
  std::string text = fmt::format("{}detection power on this contract: {} of {} mutants that apply\n", indent,
                                 power.killed, power.apply);
  std::string named;
  for (std::size_t i = 0; i < std::min(kNamed, power.survivors.size()); ++i) {
    named += (named.empty() ? "" : ", ") + shown(power.survivors[i]);
  }
  if (power.survivors.size() > kNamed) named += fmt::format(" and {} more", power.survivors.size() - kNamed);
  if (!named.empty()) text += fmt::format("{}  not detected: {}\n", indent, named);
  if (power.not_shown > 0) {
    text += fmt::format("{}  {} of its operators: no known case that it takes shows them\n", indent,
                        plural(power.not_shown, "further mutant"));
  }
  return text;
}

std::string why_not_judged(const BackendResult& backend) {
  std::uint64_t owed = 0;
  std::uint64_t attempted = 0;
  Counts reasons;
  for (const auto& [op_type, result] : backend.operators) {
    owed += result.owed();
    attempted += result.attempted();
    add_counts(result.unsupported_reasons, reasons);
  }
  const std::uint64_t not_judged = backend.count(VerdictKind::not_judged);
  if (not_judged > 0 && owed == 0) {
    return fmt::format("{} of operators that qconform does not know, or beyond its limits", plural(not_judged, "case"));
  }
  if (attempted > 0) return fmt::format("{} computed, and no output proves anything", plural(attempted, "case"));
  if (owed == 0) return "no valid case was asked of it";
  const auto commonest = std::max_element(reasons.begin(), reasons.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string text = fmt::format("all {} declined", plural(owed, "valid case"));
  if (commonest == reasons.end()) return text;
  text += ": " + shown(commonest->first);
  if (reasons.size() > 1)
    text += fmt::format(" ({} of them, and {})", with_thousands(commonest->second),
                        plural(reasons.size() - 1, "other reason"));
  return text;
}

namespace {

constexpr std::size_t kNameWidth = 36;
constexpr std::size_t kLeastCellWidth = 18;

// Padded before it is painted.
std::string cell(const BackendResult& backend, const std::string& op_type, std::size_t width, const Painter& paint) {
  if (!backend.has_computed(op_type)) return fmt::format("{:>{}}", "-", width);
  const OperatorResult& result = backend.operators.at(op_type);
  const std::uint64_t wrong = result.failing();
  const std::string text =
      fmt::format("{:>{}}", with_thousands(result.count(VerdictKind::pass)) + " / " + with_thousands(wrong), width);
  return wrong == result.waived_failing() ? text : paint.bad(text);
}

}  // namespace

std::string brief_table(const Report& report, const Painter& paint, std::size_t columns) {
  // Operators that no backend computes have no column: the last line names them.
  std::set<std::string> op_types;
  for (const BackendResult& backend : report.backends) {
    for (const auto& [op_type, result] : backend.operators) {
      if (backend.has_computed(op_type)) op_types.insert(op_type);
    }
  }
  std::size_t cell_width = kLeastCellWidth;
  for (const std::string& op_type : op_types) cell_width = std::max(cell_width, shown(op_type).size() + 2);
  const bool fits = columns == 0 || kNameWidth + op_types.size() * cell_width <= columns;
  std::string text = fmt::format("{:<{}}", "right / wrong answers", fits ? kNameWidth : 0);
  for (const std::string& op_type : op_types) {
    if (fits) text += fmt::format("{:>{}}", shown(op_type), cell_width);
  }
  text += "\n";
  for (const BackendResult& backend : report.backends) {
    text += fmt::format("{:<{}}", shown(backend.info.name) + " " + shown(backend.info.version), fits ? kNameWidth : 0);
    for (const std::string& op_type : op_types) {
      if (fits) text += cell(backend, op_type, cell_width, paint);
      if (!fits && backend.has_computed(op_type)) {
        text += fmt::format("\n  {:<{}}{}", shown(op_type), cell_width, cell(backend, op_type, cell_width, paint));
      }
    }
    text += "\n";
    if (backend.power) text += power_lines(*backend.power, "  ");
  }
  std::uint64_t vacuous = 0;
  for (const BackendResult& backend : report.backends) vacuous += backend.count(VerdictKind::vacuous);
  if (vacuous > 0) {
    text +=
        fmt::format("{} not counted: the output is right, but proves nothing (vacuous)\n", plural(vacuous, "answer"));
  }
  const auto waived = static_cast<std::uint64_t>(std::count_if(report.findings.begin(), report.findings.end(),
                                                               [](const Finding& f) { return f.waiver.has_value(); }));
  if (waived > 0) text += fmt::format("{} waived, with the reasons in the report\n", plural(waived, "known finding"));
  return text;
}

std::string finding_row(const Finding& finding, const Painter& paint) {
  const auto& worst = finding.verdict.worst;
  return fmt::format("  {} {} {} on {}, {}: {}; {}\n", shown(finding.id), paint.bad(std::string(name_of(finding.kind))),
                     shown(finding.op_type), shown(finding.backend), plural(finding.cases, "case"),
                     shown(example_summary(finding)), worst ? element_text(*worst) : shown(finding.verdict.detail));
}

std::string finding_rows(const Report& report, const Painter& paint) {
  std::string text;
  for (const Finding& finding : report.findings) {
    if (!finding.waiver) text += finding_row(finding, paint);
  }
  for (const BackendResult& backend : report.backends) {
    for (const auto& [op_type, result] : backend.operators) {
      if (result.undetermined == 0) continue;
      text += fmt::format("  {} on {}: {}\n", shown(op_type), shown(backend.info.name),
                          undetermined_text(result.undetermined));
    }
  }
  return text;
}

namespace {

struct ReasonGroup {
  std::string commonest;
  std::uint64_t of_commonest = 0;
  std::uint64_t count = 0;
  std::size_t kinds = 0;

  void add(const std::string& reason, std::uint64_t cases) {
    if (cases > of_commonest) {
      commonest = reason;
      of_commonest = cases;
    }
    count += cases;
    ++kinds;
  }
  [[nodiscard]] std::string line() const {
    const std::string others =
        kinds > 1 ? fmt::format(", and {} that begin{} alike", plural(kinds - 1, "reason"), kinds == 2 ? "s" : "") : "";
    return fmt::format("{:>8}  {}{}", with_thousands(count), shown(commonest), others);
  }
};

// By what stands before the colon of a reason, or by all of it; the most frequent first.
std::vector<ReasonGroup> grouped(const std::map<std::string, std::uint64_t>& counts, bool by_start) {
  std::map<std::string, ReasonGroup> by_name;
  for (const auto& [reason, count] : counts) {
    by_name[by_start ? reason.substr(0, reason.find(": ")) : reason].add(reason, count);
  }
  std::vector<ReasonGroup> groups;
  for (auto& [name, group] : by_name) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const ReasonGroup& a, const ReasonGroup& b) { return a.count > b.count; });
  return groups;
}

}  // namespace

std::vector<std::string> reason_lines(const std::map<std::string, std::uint64_t>& counts, bool verbose,
                                      std::size_t most) {
  std::vector<std::string> lines;
  std::uint64_t rest = 0;
  const std::vector<ReasonGroup> groups = grouped(counts, !verbose);
  for (const ReasonGroup& group : groups) {
    if (verbose || lines.size() < most) {
      lines.push_back(group.line());
    } else {
      rest += group.count;
    }
  }
  if (rest > 0) {
    lines.push_back(fmt::format("{:>8}  for {} (--verbose lists them)", with_thousands(rest),
                                plural(groups.size() - most, "other reason")));
  }
  return lines;
}

}  // namespace qconform::report
