#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <vector>

#include "harness/base/text.h"
#include "harness/forms/archive/report_archive.h"
#include "reports/render/finding_text.h"
#include "reports/render/forms.h"
#include "reports/render/markdown.h"
#include "reports/render/node_lines.h"
#include "reports/render/terminal.h"

namespace qconform::report {

namespace {

std::size_t waived_findings(const Report& report) {
  return static_cast<std::size_t>(
      std::count_if(report.findings.begin(), report.findings.end(), [](const Finding& f) { return !!f.waiver; }));
}

// "**qconform: does not conform**: avx2" and how much was looked at.
std::string verdict_lines(const Report& report) {
  std::vector<std::string> failing;
  std::uint64_t judged = 0;
  for (const BackendResult& backend : report.backends) {
    judged += backend.cases();
    if (backend.decides && !backend.conforms()) failing.push_back(escaped(shortened(backend.info.name, 60)));
  }
  constexpr std::size_t kNamed = 8;
  const std::size_t others = failing.size() > kNamed ? failing.size() - kNamed : 0;
  failing.resize(std::min(failing.size(), kNamed));
  std::string text = fmt::format("### qconform: {}\n\n", conclusion_text(report));
  if (!failing.empty()) {
    text += fmt::format("Failing: {}{}\n\n", fmt::join(failing, ", "),
                        others > 0 ? fmt::format(" and {} more", others) : "");
  }
  for (const std::string& line : share_lines(report)) text += escaped(line) + "\n\n";
  const Environment& environment = report.environment;
  if (!environment.judged_commit.empty()) {
    text += fmt::format("Your commit {}, judged by qconform {}.\n\n", code(environment.judged_commit),
                        escaped(environment.version));
  }
  const std::size_t waived = waived_findings(report);
  return text + fmt::format("{} judged on {}, profile {}, seed {}: {}{}\n", plural(judged, "answer"),
                            plural(report.backends.size(), "backend"), escaped(report.profile), report.seed,
                            plural(report.findings.size() - waived, "finding"),
                            waived > 0 ? fmt::format(", {} more waived", waived) : "");
}

constexpr std::string_view kTableHead =
    "\n| backend | operator | cases | right | wrong | waived | refused | declined | vacuous | tier |\n"
    "|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n";

std::string table_row(const BackendResult& backend, const std::string& op_type, const OperatorResult& result) {
  const std::uint64_t failing = result.failing();
  const std::uint64_t waived = result.waived_failing();
  const auto tier = result.tiers.common.strictest();
  const std::string reached = result.tiers.elements() == 0 ? "" : tier ? std::string(name_of(*tier)) : "none";
  return fmt::format("| {}{} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", escaped(backend.info.name),
                     backend.decides ? "" : " (does not count)", escaped(op_type), with_thousands(result.cases()),
                     with_thousands(result.count(VerdictKind::pass)),
                     failing > waived ? fmt::format("**{}**", with_thousands(failing - waived)) : "0",
                     with_thousands(waived), with_thousands(result.count(VerdictKind::refused)),
                     with_thousands(result.count(VerdictKind::unsupported)),
                     with_thousands(result.count(VerdictKind::vacuous)), escaped(reached));
}

std::string relations_row(const BackendResult& backend) {
  std::uint64_t held = 0;
  std::uint64_t broken = 0;
  for (const RelationResult& relation : backend.relations) {
    held += relation.held;
    broken += relation.broken + relation.failed;
  }
  return fmt::format("| {} | relations | {} | {} | {} | 0 | | | | |\n", escaped(backend.info.name),
                     with_thousands(held + broken), with_thousands(held),
                     broken > 0 ? fmt::format("**{}**", with_thousands(broken)) : "0");
}

}  // namespace

std::string to_markdown(const Report& report, std::size_t limit) {
  LimitedText text(verdict_lines(report), limit);
  bool has_head = false;
  const auto add_row = [&](const std::string& row) {
    text.add(has_head ? row : std::string(kTableHead) + row);
    has_head = true;
  };
  for (const BackendResult& backend : report.backends) {
    for (const auto& [op_type, result] : backend.operators) add_row(table_row(backend, op_type, result));
    if (!backend.relations.empty()) add_row(relations_row(backend));
  }
  bool is_first = true;
  for (const Finding& finding : report.findings) {
    if (finding.waiver) continue;
    text.add((is_first ? "\n" : "") + finding_markdown(finding));
    is_first = false;
  }
  for (const BackendResult& backend : report.backends) {
    for (const auto& [op_type, result] : backend.operators) {
      if (result.undetermined == 0) continue;
      text.add(fmt::format("\n{} on {}: {}.\n", escaped(op_type), escaped(backend.info.name),
                           undetermined_text(result.undetermined)));
    }
  }
  return text.close("rows and findings", "see report.json");
}

namespace {

std::size_t longest_run(std::string_view text, char c) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char got : text) {
    run = got == c ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

// With spaces for line ends and tabs, and what else controls a terminal as text.
std::string in_one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return shown(line);
}

// A finding's own words are short; what a library prints need not be.
constexpr std::size_t kLongestFact = 2000;
constexpr std::size_t kLongestHead = 300;

}  // namespace

std::string shortened(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80) --longest;
  return std::string(text.substr(0, longest)) + "...";
}

std::string escaped_html(std::string_view text) {
  std::string result;
  for (const char c : in_one_line(text)) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kMarkup = R"(\`*_[]|~$)";
  std::string result;
  for (const char c : escaped_html(text)) {
    if (kMarkup.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string code(std::string_view text) {
  const std::string line = in_one_line(text);
  const std::string fence(longest_run(line, '`') + 1, '`');
  const bool touches = line.empty() || line.front() == '`' || line.back() == '`';
  const std::string space = touches ? " " : "";
  // In tables a bar ends the cell even inside of code.
  std::string result;
  for (const char c : line) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return fence + space + result + space + fence;
}

std::string code_block(std::string_view text) {
  const std::string fence(std::max<std::size_t>(3, longest_run(text, '`') + 1), '`');
  return fmt::format("{}\n{}\n{}\n", fence, shown_lines(text), fence);
}

std::string finding_markdown(const Finding& finding) {
  std::string facts;
  for (const Fact& fact : facts_of(finding)) {
    if (fact.label == "replay" || fact.value.empty()) continue;
    facts += fmt::format("- **{}** {}\n", fact.label, escaped(shortened(fact.value, kLongestFact)));
  }
  const std::string head = fmt::format("{} {}{} in {} on {}: {}", finding.id, name_of(finding.kind),
                                       subject_of(finding), finding.op_type, finding.backend, cases_text(finding));
  std::string text =
      fmt::format("<details><summary>{}</summary>\n\n{}", escaped_html(shortened(head, kLongestHead)), facts);
  if (!finding.replay.empty()) text += "\n" + code_block(shown_command(finding.replay));
  return text + "\n</details>\n";
}

void LimitedText::add(const std::string& piece) {
  if (left_out_ > 0 || text_.size() + piece.size() + kClosingBytes > limit_) {
    ++left_out_;
    return;
  }
  text_ += piece;
}

std::string LimitedText::close(const std::string& noun, const std::string& where) const {
  if (left_out_ == 0) return text_;
  return text_ + fmt::format("\n{} more {}: {}\n", left_out_, noun, where);
}

}  // namespace qconform::report
