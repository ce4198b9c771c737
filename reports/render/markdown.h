// Pieces of Markdown as GitHub and GitLab show it. Internal to reports.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/report/report.h"

namespace qconform::report {

/// Text of others in a line or a table's cell: nothing in it is markup, a line break is a space.
[[nodiscard]] std::string escaped(std::string_view text);

/// Text of others inside of an HTML element, where Markdown's own markup is none.
[[nodiscard]] std::string escaped_html(std::string_view text);

/// At most so many bytes and "...", cut between characters of UTF-8.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t longest);

/// Text as code in a line or a cell.
[[nodiscard]] std::string code(std::string_view text);

/// A block of code; the fence is longer than any in the text.
[[nodiscard]] std::string code_block(std::string_view text);

/// A finding, folded: what it is in the head, the facts and the replay line below.
[[nodiscard]] std::string finding_markdown(const Finding& finding);

/// Gathers pieces until a size is reached. The head is always there; what does not fit is counted.
class LimitedText {
 public:
  LimitedText(std::string head, std::size_t limit) : text_(std::move(head)), limit_(limit) {}
  /// Adds the piece if there is room for it and for the closing line; once one was left out, so are the
  /// others.
  void add(const std::string& piece);
  /// The text; where pieces were left out, with a line "N more NOUN: WHERE".
  [[nodiscard]] std::string close(const std::string& noun, const std::string& where) const;

 private:
  static constexpr std::size_t kClosingBytes = 256;
  std::string text_;
  std::size_t limit_;
  std::size_t left_out_ = 0;
};

}  // namespace qconform::report
