// The report in the forms that other programs read: JSON, one HTML page, JUnit XML, Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/base/error.h"
#include "harness/report/report.h"

namespace qconform::report {

[[nodiscard]] std::string to_json(const Report& report);

/// The documents of a page, as texts; those that are empty are left out.
struct PageDocuments {
  std::string_view report;      ///< document of to_json()
  std::string_view bench;       ///< document of `qconform bench`
  std::string_view comparison;  ///< document of gate::to_json(): the report against a baseline
};

/// The page with the report, its matrix where a library has several backends, and the other documents. Errors name
/// what is wrong with them, in the field "report", "bench" or "comparison"; field "viewer": this build has no page.
[[nodiscard]] Result<std::string> to_html(const PageDocuments& documents);

/// A test suite for each backend and operator. Its test cases are "verdicts" (the counts; fails where nothing was
/// computed) and one for each finding, named by its signature: a failure; an error where the process died or
/// hung; skipped where it is waived, or the backend does not decide. One more suite for the relations, if there are
/// any. Valid by the schema that Jenkins' xUnit plugin uses for Surefire's form. Control characters stand
/// as text, "\x1b"; U+FFFE and U+FFFF, which XML 1.0 cannot hold, are replaced by U+FFFD.
[[nodiscard]] std::string to_junit(const Report& report);

/// Most characters that GitHub takes as a comment; a text has no more characters than bytes.
inline constexpr std::size_t kCommentBytes = 65536;
/// Room for the verdict and some backends.
inline constexpr std::size_t kLeastMarkdownBytes = 2048;

/// The verdict first, then a table of backends and operators, then the findings that are not waived, at most
/// `limit` bytes together; what does not fit is counted. Text of backends and cases is escaped.
[[nodiscard]] std::string to_markdown(const Report& report, std::size_t limit);

}  // namespace qconform::report
