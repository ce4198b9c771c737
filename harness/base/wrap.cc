#include "harness/base/wrap.h"

#include <algorithm>
#include <array>

#include "harness/base/terminal_text.h"
#include "harness/base/text.h"

namespace qconform {
namespace {

constexpr std::array<std::string_view, 7> kCopied{"replay ", "report ",  "page ",    "matrix ",
                                                  "result ", "written ", "example: "};

std::size_t spaces_before(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool is_copied(std::string_view line) {
  line.remove_prefix(spaces_before(line));
  return std::any_of(kCopied.begin(), kCopied.end(), [&](std::string_view word) { return line.starts_with(word); });
}

// The column at which the text behind a label begins: after the first two spaces among the first columns.
std::size_t indent_of(std::string_view line, std::size_t columns) {
  const std::size_t begin = spaces_before(line);
  const std::size_t gap = line.find("  ", begin);
  if (gap != std::string_view::npos) {
    const std::size_t text = std::min(line.find_first_not_of(' ', gap), line.size());
    const std::size_t indent = columns_of(line.substr(0, text));
    if (indent <= columns / 2) return indent;
  }
  return begin + 2;
}

// The words of a line, each with the spaces before it.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' ', spaces_before(line)), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

void append_wrapped(std::string_view line, std::size_t columns, std::string& result) {
  const std::string indent(indent_of(line, columns), ' ');
  std::size_t at = 0;
  for (std::string_view word : words_of(line)) {
    const std::size_t width = columns_of(word);
    if (at > indent.size() && at + width > columns) {
      word.remove_prefix(spaces_before(word));
      result += "\n" + indent;
      at = indent.size();
    }
    result += word;
    at += columns_of(word);
  }
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string result;
  bool is_first = true;
  for (const std::string_view line : split(text, "\n")) {
    result += is_first ? "" : "\n";
    is_first = false;
    if (columns_of(line) <= columns || is_copied(line)) {
      result += line;
    } else {
      append_wrapped(line, columns, result);
    }
  }
  return result;
}

}  // namespace qconform
