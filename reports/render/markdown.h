// The report as Markdown: short, for a comment on a pull request or the summary of a CI job.
#pragma once

#include <cstddef>
#include <string>

#include "harness/core/report.h"

namespace qconform::report {

/// What GitHub takes as a comment, in characters, of which there are no more than bytes.
inline constexpr std::size_t kCommentBytes = 65536;
/// Room for the verdict and some backends.
inline constexpr std::size_t kLeastMarkdownBytes = 2048;

/// The verdict first, then a table of backends and operators, then the findings that are not waived, at most
/// `limit` bytes together; what does not fit is counted. Text of backends and cases is escaped.
[[nodiscard]] std::string to_markdown(const Report& report, std::size_t limit);

}  // namespace qconform::report
