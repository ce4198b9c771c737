#include "reports/render/markdown_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/terminal_text.h"
#include "reports/render/finding_text.h"

namespace qconform::report {
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
