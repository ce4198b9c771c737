// The page that shows a report, without its data. A build has one if Node.js and the packages of
// reports/viewer were there.
#pragma once

#include <span>
#include <string_view>

namespace qconform::report {

/// The page's text is `begin`, the documents, `end`.
struct Viewer {
  std::span<const std::string_view> begin;
  std::span<const std::string_view> end;
};

/// Null when this build has none.
[[nodiscard]] const Viewer* viewer();

/// Why it has none: "npm was not found". Empty when it has one.
[[nodiscard]] std::string_view why_no_viewer();

}  // namespace qconform::report
